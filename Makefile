# Needed beforehand: Go 1.26, Node 20 with npm, make. Everything else is installed by the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

node     := node_modules/.bin/node
wrangler := $(node) node_modules/wrangler/bin/wrangler.js
prettier := $(node) node_modules/prettier/bin/prettier.cjs

export WRANGLER_SEND_METRICS := false
# Request.cf is made up, rather than fetched: without a network that ends in a warning with a stack.
export CLOUDFLARE_CF_FETCH_ENABLED := false
export NO_UPDATE_NOTIFIER    := 1
# Each file of tests, and each command they run, loads wrangler: compiled once.
export NODE_COMPILE_CACHE    := $(CURDIR)/build/compiled
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: test build dev demo bench lint format deploy-staging deploy-production

build: node_modules/.ready
	$(node) worker/build.mjs
	go build -o build/seedctl ./cmd/seedctl

# Reinstalled when the lock file changes.
node_modules/.ready: package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Formatting, vet and short tests of what differs from main; ALL=1 takes everything. For the minutes between two commits.
.PHONY: check
check: node_modules/.ready
	@test/check.sh

# All Go tests, then those of packages with goroutines under the race detector. Tests on workerd mostly wait, so
# four files run at once. With GOGC=400 the long simulations of the frontier take a third less processor time; miniflare's
# traces would cost a twelfth of that of the tests on workerd. Vet has run in lint.
test: export X_LOCAL_OBSERVABILITY := false
test: build lint packages
	GOGC=400 go test -vet=off -timeout=30m ./...
	test/race.sh
	$(node) --test --test-concurrency=4 "test/**/*.test.mjs" "sample/**/*.test.mjs"

# Debian packages of the tests: Chromium for the dashboard, PostgreSQL and Redis for the Info service, Scrapy for scrapers,
# and what builds the package for Python.
stores := postgresql redis-server
.PHONY: packages stores
packages: examples/crawlee/node_modules/.ready clients/node/node_modules/.ready
	@test/packages.sh chromium $(stores) python3-scrapy python3-setuptools python3-wheel

stores:
	@test/packages.sh $(stores)

# What the client package for Node needs.
clients/node/node_modules/.ready: clients/node/package-lock.json node_modules/.ready
	cd clients/node && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Crawlee with TypeScript, for examples/.
examples/crawlee/node_modules/.ready: examples/crawlee/package-lock.json node_modules/.ready
	cd examples/crawlee && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# The stores and caches of the Info service, against the real servers.
.PHONY: test-stores
test-stores: stores
	go test ./info/...

# Formatting (gofmt; Prettier at 120 columns for the JavaScript), then vet for both targets (seedctl has one), staticcheck
# and eslint. `make format` mends the formatting.
lint: node_modules/.ready
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run make format" >&2; exit 1; }
	$(prettier) --check . || { echo "run make format" >&2; exit 1; }
	go vet ./...
	GOOS=js GOARCH=wasm go vet $$(go list ./... | grep -v /cmd/)
	go tool staticcheck ./...
	$(node) node_modules/eslint/bin/eslint.js .

format: node_modules/.ready
	gofmt -w .
	$(prettier) --write --log-level warn .

# Local run on http://localhost:8787 with simulated R2, queues and D1; PORT=9000 takes another port. Crons run every minute.
dev: build
	$(node) sample/dev.mjs

# The Info service: readers on http://localhost:8788, operators on http://localhost:8789, with simulated D1
# and KV that both share; PORT=9000 takes 9000 and 9001.
.PHONY: dev-info
dev-info: node_modules/.ready
	$(node) sample/info/dev/dev.mjs

# The same on a PostgreSQL and a Redis of its own, empty at each start.
.PHONY: dev-info-postgres
dev-info-postgres: node_modules/.ready stores
	POSTGRES=1 $(node) sample/info/dev/dev.mjs

# The whole pipeline on the sample web. KEEP=1 goes on until Ctrl-C, at port 8787 if that is free or at PORT=9000, and
# TOKENS=1 KEEP=1 with a token of each kind; LIVE=1 RAW="file.json …" runs it on the real web.
demo: build
	$(node) sample/demo.mjs

# What a receiver of the feed's webhook gets, from an engine on the sample web, until Ctrl-C.
.PHONY: demo-webhook
demo-webhook: build
	$(node) sample/webhook.mjs

# The sample web behind a proxy, for scrapers: docs/sample-web.md. PORT=8791 takes another port, LOG=1 prints the requests.
.PHONY: web
web: node_modules/.ready
	@$(node) sample/web/serve.mjs

# Both Workers of the Info service on the feed of an engine that runs on the sample web, and on providers that are
# played; KEEP=1 goes on until Ctrl-C.
.PHONY: demo-info
demo-info: build
	$(node) sample/info/demo.mjs

bench: build stores
	$(node) bench/run.mjs

# The part of it that is the Info service's.
.PHONY: bench-info
bench-info: node_modules/.ready stores
	$(node) bench/info/run.mjs

# seedctl for five platforms, with checksums, in build/release.
version   = $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' contract/doc.go)
platforms := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
.PHONY: release
release:
	rm -rf build/release && mkdir -p build/release
	for platform in $(platforms); do \
		name=seedctl_$(version)_$${platform/\//_}; [[ $$platform != windows/* ]] || name=$$name.exe; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -trimpath -ldflags='-s -w' -o build/release/$$name ./cmd/seedctl; \
	done
	cd build/release && sha256sum seedctl_* > SHA256SUMS

# Logs in to Cloudflare, with the Node version that wrangler needs.
.PHONY: login
login: node_modules/.ready
	$(wrangler) login

# What an environment needs before its first deploy, each only if it is missing; DRY=1 only prints the commands.
.PHONY: setup-staging setup-production
setup-staging: node_modules/.ready
	$(node) deploy/setup.mjs staging

setup-production: node_modules/.ready
	$(node) deploy/setup.mjs production

# The same for the Info service.
.PHONY: setup-info-staging setup-info-production
setup-info-staging setup-info-production: setup-info-%: node_modules/.ready
	$(node) deploy/setup-info.mjs $* $(INFO_DIR)

# PostgreSQL's migrations that the database lacks; LAST=0004_search.sql names the last one of a database that was migrated by hand.
.PHONY: migrate-info-postgres
migrate-info-postgres:
	@DATABASE_URL='$(URL)' LAST='$(LAST)' go run ./info/migrate

# Deletes what set-up and deployments created; prints it unless DELETE names the Worker.
.PHONY: teardown-staging teardown-production
teardown-staging teardown-production: teardown-%: node_modules/.ready
	$(node) deploy/teardown.mjs $*

# What a domain and a file ask of the platform, and what a million domains cost; JSON=1 prints one JSON object.
.PHONY: bench-counts
bench-counts: node_modules/.ready
	@$(node) bench/counts/run.mjs

# A day of 100,000 domains an hour, played on one shard of the frontier at a 20th of the load and at a 40th, in a minute;
# FACTOR=4 takes some eight minutes. docs/scale.md has its figures.
.PHONY: bench-scale
bench-scale:
	@go run ./bench/scale -factor $(or $(FACTOR),20)

# With DRY=1 a deployment prints the migrations instead of applying them, and uploads nothing: that needs no account.
dry     := $(filter 1,$(DRY))
migrate := $(if $(dry),@echo not run: wrangler,$(wrangler)) d1 migrations apply
deploy  := $(wrangler) deploy$(if $(dry), --dry-run)

deploy-staging deploy-production: deploy-%: build
	$(migrate) METADATA_DB --remote --env $*
	$(deploy) --env $*

# The Info service, its migrations first: the Workers need what they add.
.PHONY: deploy-info-staging deploy-info-production
deploy-info-staging deploy-info-production: deploy-info-%: node_modules/.ready
	$(migrate) INFO_DB --remote --env $* -c info/collector/wrangler.jsonc
	$(deploy) --env $* -c info/collector/wrangler.jsonc
	$(deploy) --env $* -c info/api/wrangler.jsonc
