// Package fetch is the polite HTTP client: every request to a website goes through a Session. A Session enforces the
// rules of a well-behaved crawler: one request at a time per host with a pause between two, a request budget, retries
// with back-off, Retry-After, robots.txt rules set by the caller, the Guard before every redirect, capped bodies, no
// cookies. A Transport does the exchange: the platform's fetch in a Worker, net/http natively, and a web in memory in
// tests (package fetchtest).
package fetch
