package handlers

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

func (a *API) index(w http.ResponseWriter, r *http.Request) error {
	var endpoints []string
	for _, rt := range a.routes() {
		for m := range rt.methods {
			endpoints = append(endpoints, m+" "+trimPattern(rt.path))
		}
	}
	slices.SortFunc(endpoints, func(a, b string) int { // by path
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return cmp.Or(strings.Compare(x, y), strings.Compare(a, b))
	})
	succeed(w, http.StatusOK, map[string]any{
		"name":        "newsfork-seed-engine",
		"version":     contract.Version,
		"environment": a.Settings.Environment,
		"endpoints":   endpoints,
	})
	return nil
}

func trimPattern(p string) string {
	if p == "/{$}" {
		return "/"
	}
	return p
}

// live says that the Worker answers at all.
func (a *API) live(w http.ResponseWriter, r *http.Request) error {
	succeed(w, http.StatusOK, struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}{"ok", contract.Version})
	return nil
}

// ready touches the bucket and the ledger; 503 when one of them does not answer.
func (a *API) ready(w http.ResponseWriter, r *http.Request) error {
	checks := map[string]string{}
	status := http.StatusOK
	for name, check := range map[string]func(context.Context) error{
		"r2": func(ctx context.Context) error {
			_, err := a.Bucket.List(ctx, r2.ListOptions{Prefix: "raw/", Limit: 1})
			return err
		},
		"d1": a.Ledger.Ping,
	} {
		checks[name] = "ok"
		if err := check(r.Context()); err != nil {
			a.Log.Error("readiness_failed", "check", name, "error_type", contract.KindOf(err), "error", err.Error())
			checks[name] = "failed"
			status = http.StatusServiceUnavailable
		}
	}
	data := map[string]any{"status": "ready", "checks": checks}
	if status != http.StatusOK {
		data["status"] = "not_ready"
		send(w, status, answer{Data: data, Error: &errorBody{Code: string(contract.Storage), Message: "a store does not answer; see data.checks"}})
		return nil
	}
	succeed(w, status, data)
	return nil
}

// schema publishes a JSON Schema.
func (a *API) schema(w http.ResponseWriter, r *http.Request) error {
	body, err := contract.Schemas.ReadFile(path.Join("schemas", path.Base(r.PathValue("name"))))
	if err != nil {
		return &failure{http.StatusNotFound, "not_found", "there is no such schema; domain_metadata.schema.json, dead_letter.schema.json and alarm_change.schema.json are"}
	}
	w.Header().Set("Content-Type", "application/schema+json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(body)
	return nil
}
