#!/usr/bin/env bash
# make check: formatting, vet and short tests of what differs from the branch main. ALL=1 takes everything.
set -euo pipefail

if [ -n "${ALL:-}" ]; then
	files=$(git ls-files --cached --others --exclude-standard)
	packages=./...
else
	base=${BASE:-$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main)}
	files=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)
	# A file belongs to the nearest folder above it that has Go files; the root's tests compare lists and layers.
	folders=$(for file in $files; do
		folder=$(dirname "$file")
		until compgen -G "$folder/*.go" >/dev/null; do folder=$(dirname "$folder"); done
		echo "./$folder"
	done | sort -u)
	packages=$(go list -e -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $folders .)
fi

existing() { for file in $files; do [[ -f $file && $file =~ $1 ]] && echo "$file"; done || true; }

unformatted=$(existing '\.go$' | xargs -r gofmt -l)
[ -z "$unformatted" ] || { echo "$unformatted"; echo "run make format" >&2; exit 1; }
scripts=$(existing '\.(js|mjs|ts)$')
if [ -n "$scripts" ]; then
	xargs node_modules/.bin/node node_modules/prettier/bin/prettier.cjs --check --log-level warn <<<"$scripts" || { echo "run make format" >&2; exit 1; }
	xargs node_modules/.bin/node node_modules/eslint/bin/eslint.js --no-warn-ignored <<<"$scripts"
fi

go vet ./...
GOOS=js GOARCH=wasm go build $(go list ./... | grep -v /cmd/)
go test -short $packages
if grep -q '^dashboard/' <<<"$files"; then node_modules/.bin/node --test --test-reporter=dot test/dashboard/modules.test.mjs; fi
