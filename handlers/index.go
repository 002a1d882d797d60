package handlers

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
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
	about := map[string]any{
		"name":        "newsfork-seed-engine",
		"version":     contract.Version,
		"environment": a.Settings.Environment,
		"endpoints":   endpoints,
	}
	if at := a.Settings.InfoCollectorURL; at != "" {
		about["info_dashboard"] = strings.TrimRight(at, "/") + "/dashboard/info/"
	}
	succeed(w, http.StatusOK, about)
	return nil
}

func trimPattern(p string) string {
	if p == "/{$}" {
		return "/"
	}
	return p
}

// schema publishes a JSON Schema.
func (a *API) schema(w http.ResponseWriter, r *http.Request) error {
	body, err := contract.Schemas.ReadFile(path.Join("schemas", path.Base(r.PathValue("name"))))
	if err != nil {
		return &failure{http.StatusNotFound, "not_found", "there is no such schema; there are " + strings.Join(schemas(), ", ")}
	}
	w.Header().Set("Content-Type", "application/schema+json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(body)
	return nil
}

// schemas are the names of what is published.
func schemas() (names []string) {
	entries, err := contract.Schemas.ReadDir("schemas")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// openAPI publishes the description of this API.
func (a *API) openAPI(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Write(contract.OpenAPI)
	return nil
}
