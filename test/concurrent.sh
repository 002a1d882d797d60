#!/usr/bin/env bash
# Lists the packages that start goroutines, in their code or their tests: those for the race detector.
set -euo pipefail
goroutine='^\s*(defer )?go (func|\w)|\.Go\(|t\.Parallel\(\)|\.RunParallel\(|httptest\.New(TLS)?Server'
grep -rlE --include='*.go' --exclude='*_js.go' --exclude-dir=node_modules --exclude-dir=build "$goroutine" . | xargs -n1 dirname | sort -u |
	xargs go list -e -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}'
