package handlers

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/markup"
)

// maxExclusions caps the size of an object that every event reads.
const maxExclusions = 10_000

// exclusion returns the exclusion that the path names.
func exclusion(r *http.Request) (kind, value string, err error) {
	if err := onlyQuery(r); err != nil {
		return "", "", err
	}
	kind, value = r.PathValue("kind"), r.PathValue("value")
	if kind == contract.ExcludeDomain || kind == contract.ExcludeHost {
		if value, err = sanitizeDomain(value); err != nil {
			name := "domain"
			if kind == contract.ExcludeHost {
				name = "host"
			}
			return "", "", contract.Invalid("value",
				"%q is not the name of a %s; send one such as %q, without a scheme or path", r.PathValue("value"),
				name, "mom.gov.sg")
		}
	}
	value, err = contract.CheckExclusion(kind, asciiHosts(value))
	return kind, value, err
}

// asciiHosts converts the labels of a URL pattern's host to A-labels, except those with a star.
func asciiHosts(pattern string) string {
	scheme, rest, _ := strings.Cut(pattern, "://")
	host, path, hasPath := strings.Cut(rest, "/")
	if !hasPath {
		return pattern
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if a, err := markup.Host(label); err == nil {
			labels[i] = a
		}
	}
	return scheme + "://" + strings.Join(labels, ".") + "/" + path
}

func find(list []contract.Exclusion, kind, value string) (int, bool) {
	return slices.BinarySearchFunc(list, kind+" "+value, func(e contract.Exclusion, key string) int {
		return strings.Compare(e.Kind+" "+e.Value, key)
	})
}

func missing(kind, value string) error {
	return httpapi.NotFound("the %s %s is not excluded; GET /api/v1/exclusions lists the exclusions", kind, value)
}

func (a controlRoutes) showExclusion(w http.ResponseWriter, r *http.Request) error {
	kind, value, err := exclusion(r)
	if err != nil {
		return err
	}
	c, _, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	i, ok := find(c.Exclusions, kind, value)
	if !ok {
		return missing(kind, value)
	}
	httpapi.Succeed(w, http.StatusOK, c.Exclusions[i])
	return nil
}

func (a controlRoutes) exclude(w http.ResponseWriter, r *http.Request) error {
	kind, value, err := exclusion(r)
	if err != nil {
		return err
	}
	if kind == contract.ExcludeDomain {
		switch registrable, ok := contract.RegistrableDomain(value); {
		case !ok:
			return contract.Invalid("value",
				"%q is not a registrable domain: names below it are; send one of them, such as %q", value,
				"example."+value)
		case registrable != value:
			return contract.Invalid("value", "%q is not a registrable domain; send %q, or exclude the host", value,
				registrable)
		}
	}
	why, err := reason(r)
	if err != nil {
		return err
	}
	var entry contract.Exclusion
	status := http.StatusOK
	_, err = a.Controls.Change(r.Context(), func(c *contract.Controls) error {
		status = http.StatusOK
		i, ok := find(c.Exclusions, kind, value)
		switch {
		case ok && why != nil:
			c.Exclusions[i].Reason = why
		case !ok && len(c.Exclusions) >= maxExclusions:
			return contract.Invalid("value", "limit of %d exclusions reached; delete some first",
				maxExclusions)
		case !ok:
			status = http.StatusCreated
			c.Exclusions = slices.Insert(c.Exclusions, i, contract.Exclusion{
				Kind: kind, Value: value, Reason: why, CreatedAt: contract.Time{Time: a.Now().UTC()},
				CreatedBy: httpapi.Actor(r),
			})
			c.Note(kind, value, a.Now())
		}
		entry = c.Exclusions[i]
		return nil
	})
	if err != nil {
		return err
	}
	a.Log.Warn("exclusion_changed", "kind", kind, "value", value, "excluded", true, "by", httpapi.Actor(r))
	a.Exclusions.Apply(r.Context(), kind, value)
	httpapi.Succeed(w, status, entry)
	return nil
}

func (a controlRoutes) include(w http.ResponseWriter, r *http.Request) error {
	kind, value, err := exclusion(r)
	if err != nil {
		return err
	}
	var entry contract.Exclusion
	_, err = a.Controls.Change(r.Context(), func(c *contract.Controls) error {
		i, ok := find(c.Exclusions, kind, value)
		if !ok {
			return missing(kind, value)
		}
		entry = c.Exclusions[i]
		c.Exclusions = slices.Delete(c.Exclusions, i, i+1)
		c.Note(kind, value, a.Now())
		return nil
	})
	if err != nil {
		return err
	}
	a.Log.Warn("exclusion_changed", "kind", kind, "value", value, "excluded", false, "by", httpapi.Actor(r))
	a.Exclusions.Apply(r.Context(), kind, value)
	httpapi.Succeed(w, http.StatusOK, entry)
	return nil
}

// excludeAgain makes the cron confirm all exclusions: a shard that is rebuilt might lack those made since its
// snapshot.
func (a *API) excludeAgain(r *http.Request) error {
	_, err := a.Controls.Change(r.Context(), func(c *contract.Controls) error {
		c.NoteAll(a.Now())
		return nil
	})
	return err
}

// listExclusions shows one page, by kind and value.
func (a controlRoutes) listExclusions(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "kind", "limit", "cursor")
	if err != nil {
		return err
	}
	kind, limit, cursor := q.oneOf("kind", contract.ExcludeDomain, contract.ExcludeHost, contract.ExcludeURL),
		q.limit(), q.text("cursor")
	after, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		q.fail(contract.BadCursor())
	}
	if q.err != nil {
		return q.err
	}
	c, _, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	page := contract.ExclusionPage{Exclusions: []contract.Exclusion{}}
	for _, e := range c.Exclusions {
		key := e.Kind + " " + e.Value
		if kind != "" && e.Kind != kind || key <= string(after) {
			continue
		}
		if len(page.Exclusions) == limit {
			last := page.Exclusions[limit-1]
			page.Cursor = contract.Text(base64.RawURLEncoding.EncodeToString([]byte(last.Kind + " " + last.Value)))
			break
		}
		page.Exclusions = append(page.Exclusions, e)
	}
	httpapi.Succeed(w, http.StatusOK, page)
	return nil
}
