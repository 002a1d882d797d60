package handlers

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
)

func (a *API) index(w http.ResponseWriter, r *http.Request) error {
	var endpoints []string
	for _, rt := range a.routes() {
		for m := range rt.Methods {
			endpoints = append(endpoints, m+" "+trimPattern(rt.Path))
		}
	}
	slices.SortFunc(endpoints, func(a, b string) int { // by path
		_, x, _ := strings.Cut(a, " ")
		_, y, _ := strings.Cut(b, " ")
		return cmp.Or(strings.Compare(x, y), strings.Compare(a, b))
	})
	about := map[string]any{
		"name":        "newsfork-seed-engine",
		"version":     contract.Version,
		"environment": a.Settings.Environment,
		"endpoints":   endpoints,
	}
	if at := a.Settings.InfoCollectorURL; at != "" {
		about["info_dashboard"] = strings.TrimRight(at, "/") + "/dashboard/info/"
	}
	httpapi.Succeed(w, http.StatusOK, about)
	return nil
}

func trimPattern(p string) string {
	if p == "/{$}" {
		return "/"
	}
	return p
}

// schema answers with a JSON Schema.
func (a *API) schema(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if !slices.Contains(contract.SchemaNames, name) {
		return httpapi.NotFound("no such schema; use %s", strings.Join(contract.SchemaNames, ", "))
	}
	return a.publish(w, r, "application/schema+json")
}

// openAPI answers with the description of this API.
func (a *API) openAPI(w http.ResponseWriter, r *http.Request) error {
	return a.publish(w, r, "application/json")
}

// publish answers with the static file at the request's path.
func (a *API) publish(w http.ResponseWriter, r *http.Request, mediaType string) error {
	body, err := a.Asset(r.Context(), r.URL.Path)
	if err != nil {
		return contract.Wrap(contract.Storage, "handlers.publish", err)
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(body)
	return nil
}
