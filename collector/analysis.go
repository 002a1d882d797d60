package collector

import (
	"context"
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/robots"
)

// analysis is the analysis of a domain while its document is written.
type analysis struct {
	*discovery.Analyser
	// rebuilt is true if the stored analysis is lost. This one is then built from the document, whose results stay.
	rebuilt bool
}

// see adds a raw URL.
func (a *analysis) see(e *contract.DocumentURL) {
	written := e.URL
	if e.RawURL != nil {
		written = *e.RawURL
	}
	a.Add(researched(written, e.Title, e.Language))
}

// score writes into an entry how its URL should be treated.
func (a *analysis) score(e *contract.DocumentURL) {
	if a.rebuilt && e.Type != nil {
		if a.Excludes(e.URL) {
			StrikeURL(e)
		}
		return
	}
	score := a.Score(e.URL)
	t, action := string(score.Type), string(score.Action)
	e.Type, e.Priority, e.Action, e.Allowed = &t, &score.Priority, &action, score.Allowed
}

// analysis returns this collection's analysis of the domain or, for a merge, the one stored with the last collection.
// If that is lost, it is rebuilt from the document old. Merges do not change the stored analysis: each adds all later
// URLs again.
func (s *saving) analysis(ctx context.Context, old *contract.Document) (*analysis, error) {
	if s.found != nil {
		return &analysis{Analyser: s.found.analysis.analyser}, nil
	}
	if s.reused != nil {
		old = s.reused.document
	}
	data, err := s.batch.store.storedState(ctx, s.dir, old)
	if err != nil {
		return nil, err
	}
	r, err := s.storedRobots(ctx, old, data)
	if err != nil {
		return nil, err
	}
	model, err := s.batch.model(ctx)
	if err != nil {
		return nil, err
	}
	o := discovery.Options{Model: model, Robots: r.verdict, Excluded: s.batch.excluded,
		Pages: s.batch.collector.Limits.URLsPerDomain}
	a, err := restore(data, o)
	if err == nil {
		return &analysis{Analyser: a}, nil
	}
	s.batch.collector.Log.Warn("discovery_failed", "error_type", contract.KindOf(err), "error", err.Error(),
		"key", s.dir.Discovery())
	return &analysis{Analyser: rebuild(old, o), rebuilt: true}, nil
}

// storedRobots returns the rules of the last collection: from the robots.txt stored as evidence, and from those of
// other hosts in state (see storeState).
func (s *saving) storedRobots(ctx context.Context, d *contract.Document, state []byte) (*robotsRules, error) {
	c := s.batch.collector
	r := newRobotsRules(newPace(ctx, c.Clock, func() error { return nil }))
	var body []byte
	if d.Robots.Exists {
		var err error
		if body, err = s.batch.store.read(ctx, s.dir.Robots()); err != nil {
			return nil, err
		}
	}
	if d.Robots.StatusCode != 0 && (body != nil || !d.Robots.Exists) {
		result := robots.Evaluate(robots.Fetched{Status: d.Robots.StatusCode, Failed: d.Robots.ErrorType != nil,
			Body: asFetched(body)})
		group := result.File.Agent(c.UserAgent)
		r.setFallback(d.Domain, group)
		if h := d.Technical.ServerInfo.EffectiveHost; h != nil {
			r.setFallback(*h, group)
		}
	}
	r.load(storedRules(state), c.UserAgent)
	if d.MovedTo != nil && d.Robots.StatusCode != 0 {
		r.setFallback(*d.MovedTo, r.hosts[d.Domain])
	}
	return r, nil
}

// restore continues the stored analysis of a domain.
func restore(data []byte, o discovery.Options) (*discovery.Analyser, error) {
	state, err := discovery.ParseState(data)
	if err != nil {
		return nil, err
	}
	return discovery.Restore(state, o)
}

// rebuild starts the analysis again from the URLs in the document.
func rebuild(d *contract.Document, o discovery.Options) *discovery.Analyser {
	o.Domain, o.Now = d.Domain, d.CollectedAt.Time
	if d.Authority != nil {
		o.Context.Authority = *d.Authority
	}
	a := discovery.NewAnalyser(o)
	var shown discovery.Discovery
	if json.Unmarshal(d.Discovery, &shown) == nil {
		for _, u := range shown.URLs {
			a.Add(&discovery.Sighting{Loc: []byte(u.URL), Method: u.Method})
		}
	}
	return a
}

// describeDiscovery writes the results of the analysis into a document. It returns the fetch contract, which
// describeContract completes, or nil if that is unknown. A merge keeps the time of discovery, because it sends
// no requests.
func (s *saving) describeDiscovery(d *contract.Document, a *analysis) *discovery.FetchContract {
	if a.rebuilt {
		strikeExcluded(d, a.Excludes)
		return howToFetch(d)
	}
	found := a.Result()
	if s.found != nil {
		found.Stats.ProcessingTimeMS = s.found.analysis.took.Milliseconds()
	} else {
		found.Stats.ProcessingTimeMS = processingTime(d.Discovery)
	}
	d.Discovery, s.shown = found.AppendJSON(nil), &found

	r, limits := d.Technical.RobotsTxt, s.batch.collector.Limits
	terms := discovery.Terms{
		UserAgent: s.batch.collector.UserAgent, Allowed: r.AllowsCrawling,
		CrawlDelay: limits.RequestInterval, ContentSignals: r.ContentSignals,
	}
	if r.CrawlDelaySeconds != nil {
		terms.CrawlDelay = max(terms.CrawlDelay, time.Duration(*r.CrawlDelaySeconds*float64(time.Second)))
	}
	if o := d.Technical.ServerInfo; d.MovedTo != nil {
		terms.Home = "https://" + *d.MovedTo + "/"
	} else if o.EffectiveHost != nil {
		terms.Home = "http://" + *o.EffectiveHost + "/"
		if o.SupportsHTTPS {
			terms.Home = "https://" + *o.EffectiveHost + "/"
		}
	}
	if d.Robots.FetchedAt != nil && d.Robots.StatusCode != 0 {
		terms.RobotsExpires = d.Robots.FetchedAt.Add(robots.MaxAge)
	}
	c := a.Contract(terms)
	if d.Excluded = hostExcluded(d, s.batch.excluded); d.Excluded {
		c.Close()
	}
	d.ValidUntil = contract.Time{Time: c.ValidUntil(d.CollectedAt.Time)}
	return &c
}

// howToFetch returns the fetch contract of a stored document, or nil if it cannot be read.
func howToFetch(d *contract.Document) *discovery.FetchContract {
	how := &discovery.FetchContract{}
	if json.Unmarshal(d.Contract, how) != nil {
		return nil
	}
	return how
}

// processingTime returns the processing_time_ms of an intelligent_discovery.
func processingTime(found json.RawMessage) int64 {
	var d struct {
		Stats struct {
			ProcessingTimeMS int64 `json:"processing_time_ms"`
		} `json:"discovery_stats"`
	}
	_ = json.Unmarshal(found, &d) // 0 for none
	return d.Stats.ProcessingTimeMS
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain data
	}
	return b
}
