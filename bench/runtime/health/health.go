// Package health is the handler that the runtime benchmark serves through the pool and through the
// library's own entry, so that both sides compile the same program.
package health

import "net/http"

const answer = `{"success":true,"data":{"status":"ok","service":"newsfork-seed-engine"}}`

// Handler answers GET /health.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		w.Write([]byte(answer))
	})
	return mux
}
