package settings

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
)

// Info is the configuration of the Info service's Workers; docs/info.md explains the variables.
type Info struct {
	Environment      string
	UserAgent        string
	Interval         time.Duration // between two requests to a host of articles
	APIToken         string        // "": operators are answered only in development
	APITokenPrevious string
	AlertWebhookURL  string // "": alarms are only logged

	Feeds              []string                  // URLs; none: the source is off
	FeedZones          map[string]*time.Location // of dates that name none, by URL; nil: UTC
	NaverURL           string
	NaverIDHeader      string
	NaverSecretHeader  string
	NaverID            string // "": the source is off
	NaverSecret        string
	NaverQueries       []string
	NaverDailyLimit    int
	NaverCron          string
	NewsDataURL        string
	NewsDataKey        string // "": the source is off
	NewsDataQueries    []string
	NewsDataDailyLimit int
	NewsDataWindow     int
	NewsDataCron       string
	SeedURL            string // "": the source is off, unless there is a service binding
	SeedToken          string
	SeedAll            bool // articles that fit no topic are taken as well
	FeedsCron          string

	RedisURL        string // "": the cache is KV
	PublicURL       string // of the readers' Worker, without a final slash; "": links have the host of the request
	Origins         []string
	CategoryDefault string // a topic; "": articles that fit no category have none
	Retention       time.Duration
	MaxArticles     int   // older ones are deleted
	DatabaseBytes   int64 // what the database can hold
	Signing         Signing
}

// InfoSecrets are the secrets among the Info service's settings; see Secrets.
var InfoSecrets = []string{"ALERT_WEBHOOK_URL", "API_TOKEN", "API_TOKEN_PREVIOUS", "NAVER_CLIENT_ID",
	"NAVER_CLIENT_SECRET", "NEWSDATA_API_KEY", "SEED_ENGINE_TOKEN", "REDIS_URL", "SIGNING_KEY"}

// maxLines caps the feeds or queries that a variable lists.
const maxLines = 200

// ReadInfo reads the settings of the Info service through get, as Read does.
func ReadInfo(get func(name string) (string, bool)) (*Info, error) {
	r := reader{get: get}
	s := &Info{
		Environment:       r.oneOf("ENVIRONMENT", Development, "staging", "production"),
		UserAgent:         r.text("USER_AGENT", DefaultUserAgent),
		Interval:          r.duration("REQUEST_INTERVAL_MS", 1000, time.Millisecond),
		APIToken:          r.text("API_TOKEN", ""),
		APITokenPrevious:  r.text("API_TOKEN_PREVIOUS", ""),
		AlertWebhookURL:   r.webURL("ALERT_WEBHOOK_URL"),
		NaverURL:          r.webURLOr("NAVER_BASE_URL", "https://openapi.naver.com/v1/search/news.json"),
		NaverIDHeader:     r.header("NAVER_ID_HEADER", "X-Naver-Client-Id"),
		NaverSecretHeader: r.header("NAVER_SECRET_HEADER", "X-Naver-Client-Secret"),
		NaverID:           r.text("NAVER_CLIENT_ID", ""),
		NaverSecret:       r.text("NAVER_CLIENT_SECRET", ""),
		NaverQueries:      r.lines("NAVER_QUERIES", "환경 재활용\n기후변화\n재생에너지\n인공지능"),
		NaverDailyLimit:   int(r.number("NAVER_DAILY_LIMIT", 25000, 1, 1_000_000)),
		NaverCron:         r.text("COLLECT_NAVER_CRON", "*/5 * * * *"),
		NewsDataURL:       r.webURLOr("NEWSDATA_BASE_URL", "https://newsdata.io/api/1/latest"),
		NewsDataKey:       r.text("NEWSDATA_API_KEY", ""),
		NewsDataQueries: r.lines("NEWSDATA_QUERIES",
			"environment OR recycling OR climate\n\"renewable energy\" OR solar OR battery\n\"artificial "+
				"intelligence\""),
		NewsDataDailyLimit: int(r.number("NEWSDATA_DAILY_LIMIT", 200, 1, 1_000_000)),
		NewsDataWindow:     int(r.number("NEWSDATA_WINDOW_LIMIT", 30, 1, 1_000_000)),
		NewsDataCron:       r.text("COLLECT_NEWSDATA_CRON", "*/30 * * * *"),
		SeedURL:            r.webURL("SEED_ENGINE_URL"),
		SeedToken:          r.text("SEED_ENGINE_TOKEN", ""),
		SeedAll:            r.oneOf("SEED_ENGINE_ITEMS", "topics", "all") == "all",
		FeedsCron:          r.text("COLLECT_FEEDS_CRON", "*/5 * * * *"),
		RedisURL:           r.text("REDIS_URL", ""),
		PublicURL:          strings.TrimRight(r.webURL("PUBLIC_URL"), "/"),
		Origins:            r.origins("CORS_ORIGINS"),
		CategoryDefault:    r.text("INFO_CATEGORY_DEFAULT", ""),
		MaxArticles:        int(r.number("INFO_MAX_ARTICLES", 2_000_000, 1000, 1_000_000_000)),
		DatabaseBytes:      r.number("INFO_DATABASE_MB", 10_000, 10, 100_000_000) * 1_000_000,
		Retention:          time.Duration(r.number("INFO_RETENTION_DAYS", 365, 1, 3650)) * 24 * time.Hour,
		Signing:            r.signing(),
	}
	s.Feeds, s.FeedZones = r.feeds("FEEDS")
	if (s.NaverID == "") != (s.NaverSecret == "") {
		r.fail("NAVER_CLIENT_SECRET", s.NaverSecret, "a value together with NAVER_CLIENT_ID, or neither")
	}
	switch encrypted := strings.HasPrefix(s.RedisURL, "rediss://"); {
	case s.RedisURL == "" || encrypted:
	case s.Environment != Development:
		r.fail("REDIS_URL", s.RedisURL,
			"rediss://:password@host:port; without encryption, the password would cross the internet in the clear")
	case !strings.HasPrefix(s.RedisURL, "redis://"):
		r.fail("REDIS_URL", s.RedisURL, "rediss://:password@host:port, or redis:// in development")
	}
	if u, err := url.Parse(s.PublicURL); err == nil && (u.RawQuery != "" || u.Fragment != "") {
		r.fail("PUBLIC_URL", s.PublicURL, "a URL without query and fragment, such as https://news.example.com")
	}
	return s, r.err
}

// lines reads a list with one entry per line.
func (r *reader) lines(name, fallback string) (list []string) {
	for entry := range strings.Lines(r.text(name, fallback)) {
		if entry = strings.TrimSpace(entry); entry != "" && !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	if len(list) > maxLines {
		r.fail(name, r.text(name, ""), "at most 200 lines")
	}
	return list
}

// feeds reads URLs, one per line, each with the time zone of its dates behind a bar. The default is that of the country
// of its top-level domain.
func (r *reader) feeds(name string) (urls []string, zones map[string]*time.Location) {
	zones = map[string]*time.Location{}
	for _, line := range r.lines(name, "") {
		v, zone, named := strings.Cut(line, "|")
		v, zone = strings.TrimSpace(v), strings.TrimSpace(zone)
		u, err := url.Parse(v)
		if err != nil || !isWebURL(v) {
			r.fail(name, line, "absolute http or https URLs without a user name, one a line")
			continue
		}
		zones[v] = markup.CountryZone(u.Hostname())
		if named {
			var ok bool
			if zones[v], ok = markup.Zone(zone); !ok {
				r.fail(name, line, "a time zone such as Asia/Seoul, Europe/Berlin or UTC behind the bar")
			}
		}
		if !slices.Contains(urls, v) {
			urls = append(urls, v)
		}
	}
	return urls, zones
}

// origins reads a list of CORS origins: scheme and host, or "*".
func (r *reader) origins(name string) (list []string) {
	for _, v := range strings.FieldsFunc(r.text(name, ""),
		func(c rune) bool { return c == ',' || c == ' ' || c == '\n' }) {
		u, err := url.Parse(v)
		if v != "*" && (err != nil || !isWebURL(v) || v != u.Scheme+"://"+u.Host) {
			r.fail(name, v, "origins such as https://app.example.com, separated by commas, or *")
		}
		list = append(list, v)
	}
	return list
}

func (r *reader) webURLOr(name, fallback string) string {
	if v := r.webURL(name); v != "" {
		return v
	}
	return fallback
}

func isWebURL(v string) bool {
	u, err := url.Parse(v)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http")
}

// header reads the name of an HTTP header.
func (r *reader) header(name, fallback string) string {
	v := r.text(name, fallback)
	if strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		r.fail(name, v, "the name of a header")
	}
	return v
}
