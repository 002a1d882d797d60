// Package fetch is the polite HTTP client: everything the pipeline asks of a website goes through a
// Session. A Session keeps the promises of a well-behaved crawler, by construction: one request at
// a time per host with a pause between two, a request budget, retries that back off, Retry-After,
// robots.txt rules set by the caller, redirects followed by hand with the Guard before every hop,
// bodies cut at a cap, no cookies. The exchange itself is done by a Transport: the platform's fetch
// in a Worker, net/http elsewhere, a web in memory in tests (package fetchtest).
package fetch
