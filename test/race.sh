#!/usr/bin/env bash
# Tests the packages with goroutines under the race detector. It leaves out SQLite, a C program of one thread
# translated to Go: it finds nothing there, and makes databases 25 times slower. -short leaves out long simulations,
# which add nothing concurrent; so do the tests in `one`, each of which takes 7 to 45 seconds here, works in one goroutine
# or starts no other goroutines than shorter tests of its package. Without GORACE every package sleeps a second.
#
# The detector itself now and then stops with "ThreadSanitizer: CHECK failed" in tests that use testing/synctest
# (https://go.dev/issue/78156). That says nothing about our code, so a package that ended so, and in which no test
# failed and no race was found, runs a second time. Two such ends in a row fail.
set -euo pipefail
cd "$(dirname "$0")/.."

one='Conformance|Chaos|Model|Rows_OfFoundURLs|Schedule_LargeHost' # frontier/shard: a shard has one thread
one+='|Complete_AfterFaults|Complete_RefreshKilledAtEachCall|Pipeline_LargeFiles|Status_DashboardExample|URLs_All' # engine
one+='|Sitemaps_ListsAreScored|Merge_AnyOrder|Links_HostileMarkup' # collector
one+='|OpenAPI_Answers|DomainURLs|Pairs|Pairs_LateSources|Collect_Killed|Unseen_Rows'

race() {
	GORACE=atexit_sleep_ms=50 go test -vet=off -race -short -skip "^Test($one)\$" \
		-gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false' "$@" 2>&1
}

# Reads the output of `go test` and prints the packages that the detector's own fault ended. Fails if a package failed otherwise.
crashed() {
	awk '
		/^ThreadSanitizer: CHECK failed/ { crash = 1 }
		/^--- FAIL|^ *--- FAIL|^WARNING: DATA RACE|^panic:|^fatal error:/ { failed = 1 }
		/^(ok|\?|FAIL)[ \t]/ {
			if ($1 == "FAIL" && crash && !failed) print $2
			else if ($1 == "FAIL") other = 1
			crash = failed = 0
		}
		END { exit other }
	'
}

output=$(mktemp)
trap 'rm -f "$output"' EXIT
[ $# -gt 0 ] || set -- $(test/concurrent.sh)
if race "$@" | tee "$output"; then exit 0; fi
again=$(crashed <"$output") || exit 1
[ -n "$again" ] || exit 1
echo "the race detector stopped by itself, once more: $again"
race $again
