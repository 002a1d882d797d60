package handlers

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/usage"
)

// pausedRetryAfter is the Retry-After of leases and of new URLs while the pipeline is paused, in seconds.
const pausedRetryAfter = 60

// refusePaused refuses new URLs while the pipeline is paused: domains might be moving between shards.
func refusePaused(w http.ResponseWriter, controls *contract.Controls) error {
	if !controls.Pipeline.Paused {
		return nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(pausedRetryAfter))
	return httpapi.Errorf(http.StatusServiceUnavailable, "paused",
		"the pipeline is paused, and the frontier takes no new URLs; send the same again after it is resumed")
}

// leaseURLs leases URLs to a scraper. Excluded URLs are left out even if their shard does not know of the exclusion
// yet.
func (a frontierRoutes) leaseURLs(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	want, err := readLease(r)
	if err != nil {
		return err
	}
	if want.Scraper, err = scraperOf(r); err != nil {
		return err
	}
	controls, exclusions, err := a.Controls.Read(r.Context())
	if err != nil {
		return err
	}
	answer := contract.FrontierLease{Items: []contract.FrontierItem{}, Hosts: map[string]contract.FrontierLeasedHost{}}
	wait := int64(pausedRetryAfter)
	answer.StoppedBy = keptBack(&controls, &want)
	if !controls.Pipeline.Paused {
		lease, err := a.Frontier.Lease(r.Context(), epoch.MillisOf(a.Now()), want)
		if err != nil {
			return shardAway(w, err)
		}
		said := map[[2]string]*usage.Site{}
		for i := range lease.Items {
			if item := &lease.Items[i]; !exclusions.Domain(item.Domain) && !exclusions.URL(item.URL) {
				leased := a.item(item)
				leased.Usage = usageOf(item, said)
				answer.Items = append(answer.Items, leased)
				answer.Hosts[item.Host] = contract.FrontierLeasedHost{Delay: seconds(item.CrawlDelay),
					Robots: a.robotsOf(item)}
			}
		}
		answer.LeaseID, wait = contract.Text(lease.ID), max(lease.RetryAfter, 1)
		if lease.ID != "" {
			answer.ExpiresAt = contract.AtMillis(lease.ExpiresAt)
		}
	}
	if len(answer.Items) == 0 {
		answer.RetryAfter = &wait
		if answer.StoppedBy == nil && want.Host != "" {
			answer.StoppedBy = a.blockOf(r.Context(), want.Host)
		}
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

// blockOf returns the block of a host, or nil.
func (a frontierRoutes) blockOf(ctx context.Context, host string) *contract.FrontierStop {
	d, err := a.Frontier.Host(ctx, host)
	if err != nil { // the lease is answered all the same
		a.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error())
		return nil
	}
	if d.BlockedUntil == 0 {
		return nil
	}
	return &contract.FrontierStop{Kind: contract.StopBlock, Until: contract.AtMillis(d.BlockedUntil)}
}

// scraperOf returns the name that a scraper gives itself in a header field, or "".
func scraperOf(r *http.Request) (string, error) {
	name := r.Header.Get("X-Scraper")
	return name, frontier.CheckScraper("X-Scraper", name)
}

// keptBack returns the decision of operators that leaves a lease without URLs, or nil.
func keptBack(c *contract.Controls, want *frontier.LeaseRequest) *contract.FrontierStop {
	if stop := c.Pipeline.Stop(); stop != nil {
		return stop
	}
	place := cmp.Or(want.Host, want.Domain)
	for i := range c.Exclusions {
		e := &c.Exclusions[i]
		switch {
		case place == "":
			return nil
		case e.Kind == contract.ExcludeDomain && (place == e.Value || strings.HasSuffix(place, "."+e.Value)),
			e.Kind == contract.ExcludeHost && want.Host == e.Value:
			return e.Stop()
		}
	}
	return nil
}

// renewLease prolongs a lease.
func (a frontierRoutes) renewLease(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		Seconds *int64 `json:"lease_seconds"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	if err := within("lease_seconds", body.Seconds, frontier.MinLeaseSeconds, frontier.MaxLeaseSeconds); err != nil {
		return err
	}
	renewed, err := a.Frontier.RenewLease(r.Context(), r.PathValue("lease_id"), *body.Seconds)
	if err != nil {
		return shardAway(w, err)
	}
	if renewed.Hosts == 0 {
		return httpapi.Errorf(http.StatusConflict, "lease_over",
			"the lease is over, lasts an hour already, was never given, or operators blocked or excluded one of its "+
				"hosts; report what you have, which may still count, and lease again")
	}
	httpapi.Succeed(w, http.StatusOK,
		contract.FrontierRenewed{ExpiresAt: contract.Time{Time: renewed.ExpiresAt.Time()}})
	return nil
}

// releaseLease returns the rest of a lease.
func (a frontierRoutes) releaseLease(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	items, err := a.Frontier.ReleaseLease(r.Context(), r.PathValue("lease_id"))
	if err != nil {
		return shardAway(w, err)
	}
	httpapi.Succeed(w, http.StatusOK, contract.FrontierReleased{Released: items})
	return nil
}

func readLease(r *http.Request) (want frontier.LeaseRequest, err error) {
	var body struct {
		Max      *int     `json:"max"`
		Seconds  *int64   `json:"lease_seconds"`
		Country  string   `json:"country"`
		Category string   `json:"category"`
		Types    []string `json:"types"`
		Kinds    []string `json:"kinds"`
		PerHost  *int     `json:"per_host"`
		MaxHosts *int     `json:"max_hosts"`
		Domain   string   `json:"domain"`
		Host     string   `json:"host"`
		MinScore float64  `json:"min_score"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return want, err
	}
	one, most := 1, frontier.MaxLease
	if body.PerHost == nil {
		body.PerHost = &one
	}
	if body.MaxHosts == nil {
		body.MaxHosts = &most
	}
	types, kinds := len(body.Types), len(body.Kinds) // capped, since shards remember requests
	f := contract.Filter{Country: country(body.Country), Category: body.Category}
	if err := firstError(
		within("max", body.Max, 1, frontier.MaxLease),
		within("lease_seconds", body.Seconds, frontier.MinLeaseSeconds, frontier.MaxLeaseSeconds),
		f.Validate(""),
		within("types", &types, 0, classify.Classes),
		within("kinds", &kinds, 0, 2),
		within("per_host", body.PerHost, 1, frontier.MaxPerHost),
		within("max_hosts", body.MaxHosts, 1, frontier.MaxLease),
		within("min_score", &body.MinScore, 0, 1),
	); err != nil {
		return want, err
	}
	if want.Domain, want.Host, err = readPlace(body.Domain, body.Host); err != nil {
		return want, err
	}
	for i, t := range body.Types {
		if err := checkType(httpapi.Element("types", i), t); err != nil {
			return want, err
		}
	}
	for i, kind := range body.Kinds {
		if kind != frontier.KindPage && kind != frontier.KindEntry {
			return want, contract.Invalid(httpapi.Element("kinds", i), "%.80q is not a kind; use %q or %q", kind,
				frontier.KindPage, frontier.KindEntry)
		}
	}
	return frontier.LeaseRequest{
		Max: *body.Max, Seconds: *body.Seconds, PerHost: *body.PerHost, MaxHosts: *body.MaxHosts,
		Country: f.Country, Category: f.Category, Types: body.Types, Kinds: body.Kinds,
		Domain: want.Domain, Host: want.Host, MinScore: int(math.Ceil(body.MinScore * 1000)),
	}, nil
}

// readPlace checks the domain and the host to which a lease is confined; "" stands for all.
func readPlace(domain, host string) (string, string, error) {
	if domain != "" {
		name, err := sanitizeDomain(domain)
		if err != nil || client.Registrable(name) != name {
			return "", "", contract.Invalid("domain", "%.80q is not a registrable domain; send one such as %q", domain,
				"mom.gov.sg")
		}
		domain = name
	}
	if host != "" {
		name, err := sanitizeHost(host)
		of := client.Registrable(name)
		if err != nil || of == "" || domain != "" && of != domain {
			return "", "", contract.Invalid("host", "%.80q is not a host of the domain, or of any; send one such as %q",
				host, "www.mom.gov.sg")
		}
		host = name
	}
	return domain, host, nil
}

// robotsOf reports the state of the rules that a scraper must obey.
func (a frontierRoutes) robotsOf(i *frontier.Item) contract.FrontierRobots {
	switch {
	case i.RobotsExpires == 0 || !a.Settings.SameProduct():
		return contract.FrontierRobots{Status: contract.RobotsUnread}
	case i.RobotsPartial:
		return contract.FrontierRobots{Status: contract.RobotsPartial}
	}
	return contract.FrontierRobots{Status: contract.RobotsFresh, ExpiresAt: contract.AtMillis(i.RobotsExpires),
		URL: contract.Text("/api/v1/frontier/hosts/" + i.Host + "/robots.txt")}
}

// usageOf returns what a site says about the use of a page, or nil. Hosts that say the same share a Site.
func usageOf(i *frontier.Item, said map[[2]string]*usage.Site) *contract.FrontierUsage {
	if i.Usage == "" && i.Signals == "" {
		return nil
	}
	key := [2]string{i.Usage, i.Signals}
	if said[key] == nil {
		said[key] = usage.NewSite(i.Usage, i.Signals)
	}
	return said[key].Of(i.URL)
}

func (a frontierRoutes) item(i *frontier.Item) contract.FrontierItem {
	item := contract.FrontierItem{
		ID: i.ID, URL: i.URL, Host: i.Host, Domain: i.Domain, Kind: i.Kind, Method: contract.Text(i.Method),
		Type: i.Type, Priority: i.Priority,
		Title: contract.Text(i.Title), LastMod: contract.AtMillis(i.LastMod.Millis()), ETag: contract.Text(i.ETag),
		LastModified: contract.Text(i.LastModified),
		CrawlDelay:   seconds(i.CrawlDelay), UserAgent: a.Settings.ScraperUserAgent, Partition: i.Partition,
		Reason: contract.Text(i.Reason), Fetched: contract.AtMillis(i.Fetched.Millis()),
	}
	if i.Kind == frontier.KindPage {
		visit := i.Visits + 1
		item.Visit = &visit
	}
	return item
}

// shardRetryAfter is the Retry-After of requests that a shard did not answer, in seconds.
const shardRetryAfter = 5

// shardAway converts an error of the frontier to one of the API: 503 with Retry-After if a shard did not answer,
// for whatever reason.
func shardAway(w http.ResponseWriter, err error) error {
	if kind := contract.KindOf(err); kind == contract.Validation || kind == contract.Internal {
		return err
	}
	w.Header().Set("Retry-After", strconv.Itoa(shardRetryAfter))
	return &contract.Error{Kind: contract.Storage, Op: "handlers.frontier",
		Message: "a shard of the frontier did not answer; try again", Err: errors.New(err.Error())}
}

// within checks a required number.
func within[T int | int64 | float64](field string, v *T, least, most T) error {
	switch {
	case v == nil:
		return contract.Invalid(field, "is missing; must be between %v and %v", least, most)
	case !(*v >= least && *v <= most):
		return contract.Invalid(field, "must be between %v and %v, got %v", least, most, *v)
	}
	return nil
}

// checkType refuses names that are not content types.
func checkType(field, name string) error {
	if _, ok := classify.ClassOf(classify.Type(name)); !ok {
		return contract.Invalid(field, "%.80q is not a content type; use one such as %q", name, classify.News)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

// frontierStats shows the counts of all shards.
func (a frontierRoutes) frontierStats(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	all, err := a.Frontier.Stats(r.Context())
	if err != nil {
		return shardAway(w, err)
	}
	httpapi.Succeed(w, http.StatusOK, statsOf(&all, a.Now()))
	return nil
}

func statsOf(all *client.AllStats, now time.Time) contract.FrontierStats {
	answer := contract.FrontierStats{FrontierCounts: countsOf(&all.Total), Found: foundOf(all.Total.Found, now),
		Scrapers: []contract.FrontierScraper{}, Shards: []contract.FrontierShard{}, Unavailable: []string{}}
	for _, s := range all.Total.Scrapers {
		answer.Scrapers = append(answer.Scrapers, contract.FrontierScraper{Name: s.Name,
			First: contract.Time{Time: s.First.Time()}, Last: contract.Time{Time: s.Last.Time()},
			Leased: s.Leased, Fetched: s.Fetched, Failed: s.Failed})
	}
	for i := range all.Shards {
		switch s := &all.Shards[i]; {
		case s.Answered:
			answer.Shards = append(answer.Shards,
				contract.FrontierShard{Name: s.Name, FrontierCounts: countsOf(&s.Stats)})
		default:
			answer.Unavailable = append(answer.Unavailable, s.Name)
		}
	}
	return answer
}

// foundHours is the number of hours listed, including the current one.
const foundHours = 24

func foundOf(counted []frontier.FoundHour, now time.Time) []contract.FrontierFound {
	last := now.UTC().Truncate(time.Hour)
	hours := make([]contract.FrontierFound, foundHours)
	for i := range hours {
		hours[i] = contract.FrontierFound{
			Hour: contract.Time{Time: last.Add(time.Duration(i+1-foundHours) * time.Hour)}, Types: map[string]int64{}}
	}
	for _, c := range counted {
		i := foundHours - 1 - int(last.Sub(c.Hour.Time())/time.Hour)
		if i < 0 || i >= foundHours {
			continue
		}
		for name, n := range c.Types {
			hours[i].Types[name] += n
			hours[i].Count += n
		}
	}
	return hours
}

func countsOf(s *frontier.Stats) contract.FrontierCounts {
	n := contract.FrontierCounts{Hosts: s.Hosts, URLs: s.URLs, Entries: s.Entries, Leased: s.Leased, Done: s.Done,
		Failed: s.Failed, Bytes: s.Bytes, Quarantined: s.Quarantined, Withheld: s.Withheld,
		Scheduled: s.Scheduled, Revisited: s.Revisited, Threshold: s.Threshold,
		AnsweredToday: s.Answered, RefreshedToday: s.Refreshed}
	oldest := epoch.Millis(0)
	for lane, due := range s.Due {
		n.Due += due
		if at := s.OldestDue[lane]; at > 0 && (oldest == 0 || at < oldest) {
			oldest = at
		}
	}
	n.OldestDue = contract.AtMillis(oldest)
	return n
}

// entryPoints returns a domain's entry points as its shard has them, or nil if the shard does not answer.
func (a *API) entryPoints(ctx context.Context, domain string,
	exclusions *contract.Exclusions) []contract.EntryHistory {
	entries, err := a.Frontier.Of(domain).Entries(ctx, domain)
	if err != nil {
		a.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain",
			domain)
		return nil
	}
	list := []contract.EntryHistory{}
	for i := range entries {
		e := &entries[i]
		if exclusions.URL(e.URL) {
			continue // no longer checked
		}
		h := contract.EntryHistory{
			URL: e.URL, Method: e.Method, Interval: e.Interval, ChangedAt: contract.AtMillis(e.ChangedAt),
			NextCheckAt: contract.AtMillis(e.DueAt), Failures: e.Failures, Checks: checksOf(&e.EntryState),
		}
		if n := len(h.Checks); n > 0 {
			h.CheckedAt = &h.Checks[n-1].At
		}
		list = append(list, h)
	}
	return list
}

// statusOf returns nil for 0: no answer.
func statusOf(status int) *int {
	if status == 0 {
		return nil
	}
	return &status
}
