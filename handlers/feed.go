package handlers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/httpapi"
)

// Media types of the feed other than the API's own.
const (
	jsonFeed = "application/feed+json"
	ndjson   = "application/x-ndjson"
)

// Headers that carry contract.Followed for the media types without fields for it.
const (
	awayHeader    = "X-Unavailable-Shards"
	expiredHeader = "X-Expired"
)

// feed lists new URLs of all domains in the order in which they were found, without those excluded since.
func (a *API) feed(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "cursor", "limit", "type", "min_score", "country", "category", "event")
	if err != nil {
		return err
	}
	f := q.filter()
	want := frontier.FeedRequest{Limit: q.limit(), Country: f.Country, Category: f.Category,
		MinScore: q.share("min_score")}
	if t := q.text("type"); t != "" {
		want.Types = strings.Split(t, ",")
	}
	for _, t := range want.Types {
		if err := checkType("type", t); err != nil {
			q.fail(err)
		}
	}
	if events := q.text("event"); events != "" {
		want.Events = strings.Split(events, ",")
	}
	for _, e := range want.Events {
		if !slices.Contains(frontier.FeedEvents, e) {
			q.fail(contract.Invalid("event", "%.80q is not an event; use %s, several separated by commas", e,
				strings.Join(frontier.FeedEvents, ", ")))
		}
	}
	from := q.follow(a.Frontier.Shards)
	if q.err != nil {
		return q.err
	}
	_, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	found, err := a.Frontier.Feed(r.Context(), from, want)
	if err != nil {
		return shardAway(w, err)
	}
	page := contract.FeedPage{Items: []contract.FeedItem{}, NextCursor: found.Next.String(), HasMore: found.More,
		Followed: followed(&found.Followed)}
	for i := range found.Items {
		if !exclusions.URL(found.Items[i].URL) {
			page.Items = append(page.Items, found.Items[i].Shown())
		}
	}
	w.Header().Set("Vary", "Accept")
	w.Header().Set(awayHeader, strings.Join(page.Unavailable, ","))
	w.Header().Set(expiredHeader, strconv.FormatBool(page.Expired))
	switch preferred(r.Header.Get("Accept")) {
	case jsonFeed:
		return sendTagged(w, r, jsonFeed, encodeJSON(asJSONFeed(r, &page)))
	case ndjson:
		w.Header().Set("X-Next-Cursor", page.NextCursor)
		w.Header().Set("X-Has-More", strconv.FormatBool(page.HasMore))
		var lines []byte
		for i := range page.Items {
			lines = append(lines, encodeJSON(&page.Items[i])...)
		}
		return sendTagged(w, r, ndjson, lines)
	}
	return sendTagged(w, r, "application/json; charset=utf-8",
		encodeJSON(httpapi.Envelope{Success: true, Data: page}))
}

// changes lists contracts that were rewritten, each in its newest revision.
func (a *API) changes(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "cursor", "limit")
	if err != nil {
		return err
	}
	from, limit := q.follow(a.Frontier.Shards), q.limit()
	if q.err != nil {
		return q.err
	}
	_, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	found, err := a.Frontier.Changes(r.Context(), from, limit)
	if err != nil {
		return shardAway(w, err)
	}
	page := contract.ChangesPage{Items: []contract.ContractChange{}, NextCursor: found.Next.String(),
		HasMore: found.More, Followed: followed(&found.Followed)}
	for _, c := range found.Items {
		page.Items = append(page.Items, contract.ContractChange{
			Domain: c.Domain, Partition: c.Partition, Revision: c.Revision,
			ChangedAt: *contract.AtMillis(max(c.ChangedAt, 1)), Reachable: c.Reachable,
			Excluded: c.Excluded || exclusions.Domain(c.Domain),
			Key:      contract.DomainDir{Partition: c.Partition, Domain: c.Domain}.Document(),
		})
	}
	return sendTagged(w, r, "application/json; charset=utf-8",
		encodeJSON(httpapi.Envelope{Success: true, Data: page}))
}

func followed(f *client.Followed) contract.Followed {
	return contract.Followed{Unavailable: append([]string{}, f.Silent...), Expired: f.Expired}
}

func asJSONFeed(r *http.Request, page *contract.FeedPage) *contract.JSONFeed {
	next := url.URL{Scheme: "https", Host: r.Host, Path: r.URL.Path}
	if r.TLS == nil && (r.URL.Scheme == "http" || strings.HasPrefix(r.Host, "localhost") ||
		strings.HasPrefix(r.Host, "127.")) {
		next.Scheme = "http"
	}
	query := r.URL.Query()
	query.Set("cursor", page.NextCursor)
	next.RawQuery = query.Encode()
	f := &contract.JSONFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: "Newsfork: new URLs", NextURL: next.String(),
		Items: []contract.JSONFeedItem{},
		Description: "URLs that the Seed Engine found, in this order. next_url is set on the last page, too: it " +
			"leads to " +
			"URLs found later.",
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	for _, i := range page.Items {
		f.Items = append(f.Items, contract.JSONFeedItem{
			ID: i.URL, URL: i.URL, Title: text(i.Title), ContentText: cmp.Or(text(i.Snippet), text(i.Title)),
			Image:         text(i.Image),
			DatePublished: i.LastMod, Tags: []string{i.Type}, Newsfork: i,
		})
	}
	return f
}

// preferred returns the first of the feed's media types in an Accept header, or "" for the API's own.
func preferred(accept string) string {
	for part := range strings.SplitSeq(accept, ",") {
		switch kind, _, _ := mime.ParseMediaType(part); kind {
		case jsonFeed, ndjson:
			return kind
		case "application/json", "*/*":
			return ""
		}
	}
	return ""
}

// follow reads the cursor of the feed or of the changes.
func (q *query) follow(shards int) client.Cursor {
	c, err := client.ParseCursor(q.text("cursor"), shards)
	if err != nil {
		q.fail(err)
	}
	return c
}

// share reads a number from 0 to 1; the default is 0.
func (q *query) share(name string) float64 {
	v := q.text(name)
	if v == "" {
		return 0
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		q.fail(contract.Invalid(name, "must be between 0 and 1, got %.80q", v))
	}
	return n
}

// sendTagged answers with an ETag, or with 304 if the caller has the same content.
func sendTagged(w http.ResponseWriter, r *http.Request, kind string, body []byte) error {
	h := w.Header()
	head := strings.Join([]string{kind, h.Get("X-Next-Cursor"), h.Get(awayHeader), h.Get(expiredHeader), ""}, "\n")
	sum := sha256.Sum256(append([]byte(head), body...))
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	if matchesTag(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(body)
	return contract.Wrap(contract.Network, "handlers.sendTagged", err)
}

// matchesTag compares ETags weakly (RFC 9110, 13.1.2).
func matchesTag(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// encodeJSON returns v as one line of JSON. URLs stay short because HTML characters are not escaped.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // answers are plain structs
	}
	return b.Bytes()
}
