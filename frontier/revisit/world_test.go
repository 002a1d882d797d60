package revisit

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A world is pages on hosts, with all their changes. Times are days since the start, rates are changes a day.
type world struct {
	days     float64
	size     int // pages alive at any time
	mix      mix
	pages    []livePage // in the order of their birth
	lastmods []habit    // by host
}

// kind is the true behaviour of pages of one content type, which the policies do not know.
type kind struct {
	contentType string
	share       float64 // of all pages
	weight      float64 // worth of a correct copy
	rate        float64 // median over the pages; of news: corrections an article
	spread      float64 // σ of the logarithm of a page's own rate
	life        float64 // days until a dated page leaves the crawl; 0: undated
	lasts       float64 // mean days until it is deleted
}

// mix holds the parameters of a world.
type mix struct {
	kinds           []kind
	correction      float64 // mean age of an article when it is corrected
	truthful, today float64 // shares of the hosts; the others publish no lastmods
	// share of changes that a truthful lastmod shows; rate at which it moves without a change
	announced, restamps float64
}

// newMix draws a mix between a crawl of newsrooms and one of authorities.
func newMix(rng *rand.Rand) mix {
	near := func(x, spread float64) float64 { return x * math.Exp(spread*rng.NormFloat64()) }
	m := mix{
		kinds: []kind{
			{"news", near(0.35, 0.1), 1, near(0.5, 0.2), 1.1, 90, near(500, 0.2)},
			{"press_release", near(0.12, 0.1), 0.9, near(1.0/200, 0.3), 1.1, 365, near(900, 0.2)},
			{"policy", near(0.13, 0.1), 0.7, near(1.0/90, 0.3), 1.1, 0, near(1200, 0.2)},
			{"archive", near(0.11, 0.1), 0.4, near(1.5, 0.3), 1.3, 0, near(2000, 0.2)},
			{"statistics", near(0.08, 0.1), 0.6, 0, 0, 0, near(2000, 0.2)},
			{"about", near(0.21, 0.1), 0.2, 0, 0, 0, near(700, 0.2)},
		},
		correction: near(0.4, 0.1),
		truthful:   0.3 + 0.2*rng.Float64(), today: 0.2 + 0.1*rng.Float64(),
		announced: 0.75 + 0.2*rng.Float64(), restamps: near(1.0/60, 0.2),
	}
	total := 0.0
	for _, k := range m.kinds {
		total += k.share
	}
	for i := range m.kinds {
		m.kinds[i].share /= total
	}
	return m
}

func (m *mix) pick(rng *rand.Rand) *kind {
	u := rng.Float64()
	for i := range m.kinds {
		if u -= m.kinds[i].share; u < 0 {
			return &m.kinds[i]
		}
	}
	return &m.kinds[len(m.kinds)-1]
}

// habit is a host's use of lastmod.
type habit int

const (
	silent   habit = iota // publishes none
	truthful              // moves it with most changes
	today                 // always the time of the request
)

// livePage is a page of the world.
type livePage struct {
	kind                   *kind
	host                   int
	factor                 float64 // of its weight
	rate                   float64 // its true rate; of news, the expected corrections
	born, retired, deleted float64
	changes, lastmods      []float64
}

const lateCorrections = 1.0 / 500 // rate at which an article changes when the time of corrections is over

func newWorld(seed uint64, size int, days float64) *world {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := &world{days: days, size: size, mix: newMix(rng)}
	for left := size; left > 0; {
		host := len(w.lastmods)
		pages := min(left, 500, 1+int(30*math.Exp(rng.NormFloat64())))
		left -= pages
		h := silent
		if u := rng.Float64(); u < w.mix.truthful {
			h = truthful
		} else if u < w.mix.truthful+w.mix.today {
			h = today
		}
		w.lastmods = append(w.lastmods, h)
		restamps := poisson(rng, w.mix.restamps, 0, days)
		for range pages { // one page takes the place of another when that is deleted or retired
			k := w.mix.pick(rng)
			for at := -k.life * rng.Float64(); at < days; {
				p := w.draw(rng, k, at)
				p.host = host
				if h == truthful {
					p.lastmods = slices.Clone(restamps)
					for _, c := range p.changes {
						if rng.Float64() < w.mix.announced {
							p.lastmods = append(p.lastmods, c)
						}
					}
					slices.Sort(p.lastmods)
				}
				w.pages = append(w.pages, p)
				at = min(p.deleted, p.retired)
			}
		}
	}
	slices.SortStableFunc(w.pages, func(a, b livePage) int { return cmp.Compare(a.born, b.born) })
	return w
}

func (w *world) draw(rng *rand.Rand, k *kind, born float64) livePage {
	p := livePage{kind: k, born: born, factor: 0.5 + rng.Float64(), retired: math.Inf(1)}
	start := max(born, 0)
	p.deleted = start + rng.ExpFloat64()*k.lasts
	if k.life > 0 {
		p.retired = born + k.life
	}
	end := min(p.deleted, p.retired, w.days)
	switch {
	case k.contentType == "news":
		p.rate = k.rate * math.Exp(k.spread*rng.NormFloat64())
		for range poisson(rng, p.rate, 0, 1) {
			p.changes = append(p.changes, born+w.mix.correction*rng.ExpFloat64())
		}
		p.changes = append(p.changes, poisson(rng, lateCorrections, born, end)...)
		slices.Sort(p.changes)
		p.changes = slices.DeleteFunc(p.changes, func(at float64) bool { return at < 0 || at > end })
	case k.contentType == "statistics": // on schedule: daily, weekly, monthly or quarterly
		period := []float64{1, 7, 7, 30, 30, 30, 91}[rng.IntN(7)]
		p.rate = 1 / period
		for at := start + period*rng.Float64(); at < end; at += period * (1 + 0.05*rng.NormFloat64()) {
			p.changes = append(p.changes, at)
		}
	case k.rate > 0:
		p.rate = min(48, k.rate*math.Exp(k.spread*rng.NormFloat64()))
		p.changes = poisson(rng, p.rate, start, end)
	}
	return p
}

// weight returns what a correct copy is worth; that of dated pages falls with their age.
func (p *livePage) weight(now float64) float64 {
	timeliness := 1.0
	if p.kind.life > 0 {
		for _, days := range [...]float64{1, 7, 30, 90} {
			if now-p.born > days {
				timeliness -= 0.2
			}
		}
	}
	return p.kind.weight * p.factor * timeliness
}

// poisson draws the times of events of a constant rate.
func poisson(rng *rand.Rand, rate, from, to float64) (times []float64) {
	for at := from + rng.ExpFloat64()/rate; at < to; at += rng.ExpFloat64() / rate {
		times = append(times, at)
	}
	return times
}
