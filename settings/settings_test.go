package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/settings"
)

func from(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func TestDefaults(t *testing.T) {
	s, err := settings.Read(from(nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.Environment != "development" || s.UserAgent != "NewsforkBot/1.0 (+https://newsfork.com/bot)" ||
		s.RequestInterval != time.Second || s.MaxCrawlDelay != 30*time.Second || s.MaxRequestsPerDomain != 20 ||
		s.RobotsTimeout != 10*time.Second || s.SitemapTimeout != 15*time.Second || s.PageTimeout != 5*time.Second ||
		s.MaxSitemapBytes != 52428800 || s.FetchRetries != 3 || s.FetchRetryBase != time.Second ||
		s.RetryDelay != 2*time.Minute || s.DomainDeadline != 2*time.Minute || s.LedgerRetention != 180*24*time.Hour ||
		s.ReuseWindow != time.Hour || s.FrontierShards != 16 || s.URLsPerDomain != 500 || s.MaxHostsPerDomain != 4 ||
		!s.Freshness || s.RefreshesPerMinute != 60 || s.RefreshesPerDay != 500_000 ||
		s.FeedRetention != 14*24*time.Hour || s.MinRefresh != 90*time.Minute || s.MaxRefresh != 90*24*time.Hour {
		t.Errorf("defaults differ from the documented ones: %+v", s)
	}
}

func TestIntervals_Zero(t *testing.T) {
	s, err := settings.Read(from(map[string]string{"REQUEST_INTERVAL_MS": "0", "FETCH_RETRIES": "0",
		"RETRY_DELAY_SECONDS": "0", "FETCH_RETRY_BASE_MS": "0"}))
	if err != nil || s.RequestInterval != 0 || s.FetchRetries != 0 || s.RetryDelay != 0 || s.FetchRetryBase != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestLoad_WrongValuesNameTheVariable(t *testing.T) {
	for name, value := range map[string]string{
		"ENVIRONMENT":              "prod",
		"USER_AGENT":               "1.0 bot",
		"REQUEST_INTERVAL_MS":      "-1",
		"MAX_CRAWL_DELAY_MS":       "30s",
		"MAX_REQUESTS_PER_DOMAIN":  "0",
		"ROBOTS_TIMEOUT_MS":        "0",
		"MAX_SITEMAP_BYTES":        "1e6",
		"FETCH_RETRIES":            "99",
		"RETRY_DELAY_SECONDS":      "ten",
		"DOMAIN_DEADLINE_MS":       "99999999",
		"ALERT_WEBHOOK_URL":        "ftp://example.com/",
		"INFO_COLLECTOR_URL":       "info-collector.example.com",
		"FEED_WEBHOOK_URL":         "ftp://example.com/",
		"FEED_WEBHOOK_SECRET":      "tooshort",
		"ALERT_WEBHOOK_SECRET":     "tooshort",
		"PUBLIC_URL":               "engine.example.com",
		"LEDGER_RETENTION_DAYS":    "0",
		"REUSE_WINDOW_MINUTES":     "1441",
		"FRONTIER_SHARDS":          "0",
		"FRONTIER_URLS_PER_DOMAIN": "5001",
		"MAX_HOSTS_PER_DOMAIN":     "0",
		"FRESHNESS":                "yes",
		"LOCATION":                 "eu",
		"REFRESHES_PER_MINUTE":     "0",
		"REFRESHES_PER_DAY":        "0",
		"SECTION_LIMIT":            "0",
		"REVISITS_PER_DAY":         "-1",
		"PAGE_PROBES":              "-1",
		"FEED_RETENTION_DAYS":      "0",
		"MIN_REFRESH_SECONDS":      "0",
		"MAX_REFRESH_SECONDS":      "5399", // less than MIN_REFRESH_SECONDS
	} {
		_, err := settings.Read(from(map[string]string{name: value}))
		var e *contract.Error
		if !errors.As(err, &e) || e.Kind != contract.Validation || e.Field != name {
			t.Errorf("%s=%s: got %v, want a validation error that names it", name, value, err)
		}
	}
}

// The webhook needs https unless the run is local, and always a secret.
func TestFeedWebhook_NeedsSecret(t *testing.T) {
	const secret = "0123456789abcdef"
	for _, c := range []struct{ environment, url, secret, wrong string }{
		{"production", "https://hooks.example/x", secret, ""},
		{"production", "HTTPS://hooks.example/x", secret, ""},
		{"production", "", secret, ""}, // the secret is set first
		{"production", "https://hooks.example/x", "", "FEED_WEBHOOK_SECRET"},
		{"production", "https://user:password@hooks.example/x", secret, "FEED_WEBHOOK_URL"},
		{"staging", "http://hooks.example/x", secret, "FEED_WEBHOOK_URL"},
		{"development", "http://localhost:9000/x", secret, ""},
		{"development", "http://localhost:9000/x", secret[1:], "FEED_WEBHOOK_SECRET"},
	} {
		s, err := settings.Read(from(map[string]string{"ENVIRONMENT": c.environment, "FEED_WEBHOOK_URL": c.url,
			"FEED_WEBHOOK_SECRET": c.secret}))
		var e *contract.Error
		if errors.As(err, &e); (err != nil) != (c.wrong != "") || err != nil && e.Field != c.wrong {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil && (s.FeedWebhookURL != c.url || s.FeedWebhookSecret != c.secret) {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}

// services are the two programs with settings.
var services = map[string]struct {
	read    func(get func(string) (string, bool)) error
	secrets []string
}{
	"the engine": {func(get func(string) (string, bool)) error { _, err := settings.Read(get); return err },
		settings.Secrets},
	"the Info service": {func(get func(string) (string, bool)) error { _, err := settings.ReadInfo(get); return err },
		settings.InfoSecrets},
}

// names returns all variables that a service reads.
func names(t *testing.T, read func(get func(string) (string, bool)) error) []string {
	t.Helper()
	var asked []string
	if err := read(func(name string) (string, bool) { asked = append(asked, name); return "", false }); err != nil {
		t.Fatal(err)
	}
	return asked
}

// Error messages contain no secret, and at most a line of other values.
func TestErrors_NoSecret(t *testing.T) {
	const marker = "MARKER"
	wrong := []string{
		marker, " " + marker, "1" + marker, marker + "\n", "ftp://" + marker, "http://[" + marker, "https://user:" +
			marker + "@:bad/%zz", "https:///" + marker,
		"ftp://hooks.example/" + strings.Repeat("x", 10_000) + marker, strings.Repeat("1", 10_000) + marker,
	}
	for service, s := range services {
		all := names(t, s.read)
		for _, name := range s.secrets {
			if !slices.Contains(all, name) {
				t.Errorf("the secret %s is no setting of %s", name, service)
			}
		}
		quoted := 0
		for _, name := range all {
			for _, value := range wrong {
				err := s.read(from(map[string]string{name: value}))
				if err == nil {
					continue
				}
				text := err.Error()
				if len(text) > 300 {
					t.Errorf("%s: the message has %d bytes", name, len(text))
				}
				if !strings.Contains(text, marker) {
					continue
				}
				quoted++
				if slices.Contains(s.secrets, name) {
					t.Errorf("%s=%.40q is quoted: %s", name, value, text)
				}
			}
		}
		if quoted == 0 {
			t.Errorf("no message of %s quotes any value, so this test looked at nothing", service)
		}
	}
}

func TestSecrets_Tokens(t *testing.T) {
	for service, s := range services {
		for _, name := range names(t, s.read) {
			secret := name == "NAVER_CLIENT_ID" || name == "REDIS_URL" || !strings.HasSuffix(name, "_HEADER") &&
				(strings.Contains(name, "TOKEN") || strings.Contains(name, "SECRET") ||
					strings.Contains(name, "WEBHOOK") || strings.Contains(name, "KEY"))
			if secret != slices.Contains(s.secrets, name) {
				t.Errorf("%s of %s: secret %v, want %v", name, service, !secret, secret)
			}
		}
	}
}

func TestRead_TokensNeedLengthWhenDeployed(t *testing.T) {
	for _, name := range []string{"API_TOKEN", "API_TOKEN_PREVIOUS", "SCRAPER_TOKEN", "READ_TOKEN"} {
		for _, environment := range []string{"staging", "production"} {
			_, err := settings.Read(from(map[string]string{"ENVIRONMENT": environment, name: "fifteen-letters"}))
			var e *contract.Error
			if !errors.As(err, &e) || e.Field != name || strings.Contains(e.Message, "fifteen") {
				t.Errorf("%s in %s: got %v, want an error that names it without its value", name, environment, err)
			}
		}
		if _, err := settings.Read(from(map[string]string{name: "dev"})); err != nil {
			t.Errorf("%s in development: %v", name, err)
		}
	}
}
