package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
)

// Engine is the Seed Engine's frontier: the one authority on who may send requests to a host.
type Engine struct {
	Transport fetch.Transport
	Endpoint  string // without a path
	Token     string // the engine's SCRAPER_TOKEN, "" for a local engine
}

const (
	engineTimeout   = 5 * time.Second
	maxEngineAnswer = 4 << 20
	maxExclusions   = 50 // pages of 200, as many as the engine has at most
)

// call calls a route of the engine and decodes its data.
func (e *Engine) call(ctx context.Context, method, path string, in, data any) error {
	header := http.Header{"Accept": {"application/json"}}
	var body []byte
	if in != nil {
		header.Set("Content-Type", "application/json")
		body = contract.Encode(in)
	}
	if e.Token != "" {
		header.Set("Authorization", "Bearer "+e.Token)
	}
	resp, err := e.Transport.Do(ctx, &fetch.Request{Method: method, URL: strings.TrimRight(e.Endpoint, "/") + path,
		Header: header, Body: body, Timeout: engineTimeout})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxEngineAnswer))
	if err != nil {
		return err
	}
	if resp.Status != http.StatusOK {
		path, _, _ = strings.Cut(path, "?")
		return &contract.Error{Kind: contract.Network, Op: "collect.Engine",
			Message: fmt.Sprintf("the engine answers %d to %s %s", resp.Status, method, path)}
	}
	var answer struct{ Data json.RawMessage }
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil {
		return contract.Wrap(contract.Parse, "collect.Engine", err)
	}
	return contract.Wrap(contract.Parse, "collect.Engine", json.Unmarshal(answer.Data, data))
}

// exclusions reads what operators of the engine excluded; nil without an engine.
func (e *Engine) exclusions(ctx context.Context) (*contract.Exclusions, error) {
	if e == nil {
		return nil, nil
	}
	var all []contract.Exclusion
	query := url.Values{"limit": {"200"}}
	for range maxExclusions {
		var page contract.ExclusionPage
		if err := e.call(ctx, http.MethodGet, "/api/v1/exclusions?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Exclusions...)
		if page.Cursor == nil {
			break
		}
		query.Set("cursor", *page.Cursor)
	}
	return contract.NewExclusions(all), nil
}

// visit requests a host.
func (e *Engine) visit(ctx context.Context, host, visitor string, d time.Duration) (contract.FrontierVisit, error) {
	var v contract.FrontierVisit
	err := e.call(ctx, http.MethodPost, "/api/v1/frontier/visit", map[string]any{
		"host": host, "visitor": visitor, "seconds": int(d / time.Second)}, &v)
	return v, err
}

// end returns a host to the engine, with what was learned about it.
func (e *Engine) end(ctx context.Context, v fetch.Visit, visitor string, now time.Time) error {
	in := map[string]any{"host": v.Host, "visitor": visitor, "throttled": v.Throttled, "unresolved": v.Unresolved}
	if !v.AskedAt.IsZero() {
		in["asked_at"] = v.AskedAt.UTC()
	}
	if !v.RobotsExpires.IsZero() {
		in["robots_expires_at"], in["crawl_delay_seconds"] = v.RobotsExpires.UTC(), v.Delay.Seconds()
	}
	if wait := v.RetryAt.Sub(now); wait > 0 {
		in["retry_after_seconds"] = int64(min(wait, 24*time.Hour)/time.Second) + 1
	}
	var answer contract.FrontierVisitEnded
	return e.call(ctx, http.MethodPost, "/api/v1/frontier/visit/end", in, &answer)
}
