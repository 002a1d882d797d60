package settings

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

func infoOf(vars map[string]string) (*Info, error) {
	return ReadInfo(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
}

func TestInfo_Defaults(t *testing.T) {
	s, err := infoOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.NaverURL != "https://openapi.naver.com/v1/search/news.json" || s.NaverIDHeader != "X-Naver-Client-Id" ||
		s.NaverDailyLimit != 25000 || len(s.NaverQueries) != 4 ||
		s.NewsDataURL != "https://newsdata.io/api/1/latest" || s.NewsDataDailyLimit != 200 ||
		s.NewsDataWindow != 30 || len(s.NewsDataQueries) != 3 ||
		s.NaverCron != "*/5 * * * *" || s.NewsDataCron != "*/30 * * * *" || s.FeedsCron != "*/5 * * * *" ||
		s.Retention != 365*24*time.Hour ||
		s.Feeds != nil || s.Origins != nil || s.CategoryDefault != "" || s.Environment != Development {
		t.Errorf("%+v", s)
	}
	// 48 collections a day with one call per query stay within the free plan.
	if calls := 48 * len(s.NewsDataQueries); calls > s.NewsDataDailyLimit {
		t.Errorf("%d calls a day", calls)
	}
}

func TestInfo_Values(t *testing.T) {
	s, err := infoOf(map[string]string{
		"FEEDS":                 " https://a.example/rss \n\nhttps://b.example/x\nhttps://a.example/rss\n",
		"CORS_ORIGINS":          "https://a.example, http://localhost:5173",
		"INFO_CATEGORY_DEFAULT": "environment", "REDIS_URL": "redis://:p@h:1", "NAVER_CLIENT_ID": "i",
		"NAVER_CLIENT_SECRET": "s", "PUBLIC_URL": "https://news.example.com/",
	})
	if err != nil || s.PublicURL != "https://news.example.com" ||
		!reflect.DeepEqual(s.Feeds, []string{"https://a.example/rss", "https://b.example/x"}) ||
		len(s.Origins) != 2 || s.CategoryDefault != "environment" {
		t.Errorf("%+v %v", s, err)
	}
}

// A feed's dates without a zone are of the zone behind its URL, else of its country.
func TestInfo_FeedZones(t *testing.T) {
	s, err := infoOf(map[string]string{"FEEDS": "https://a.example/rss | Asia/Seoul\nhttps://www.b.co.kr/rss\n" +
		"https://c.com/rss\nhttps://d.jp/rss|UTC"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, feed := range s.Feeds {
		got[feed] = "UTC"
		if zone := s.FeedZones[feed]; zone != nil {
			got[feed] = zone.String()
		}
	}
	if want := map[string]string{"https://a.example/rss": "Asia/Seoul", "https://www.b.co.kr/rss": "Asia/Seoul",
		"https://c.com/rss": "UTC", "https://d.jp/rss": "UTC"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if _, err := infoOf(map[string]string{"FEEDS": "https://a.example/rss | KST"}); err == nil ||
		!strings.Contains(err.Error(), "Asia/Seoul") {
		t.Errorf("%v", err)
	}
}

func TestInfo_InvalidValues(t *testing.T) {
	for name, v := range map[string]string{
		"FEEDS": "ftp://a.example", "NAVER_BASE_URL": "naver", "NEWSDATA_BASE_URL": "https://u:p@x/",
		"SEED_ENGINE_URL": "x", "CORS_ORIGINS": "https://a.example/path",
		"NAVER_ID_HEADER": "X: y", "NAVER_DAILY_LIMIT": "0", "NEWSDATA_DAILY_LIMIT": "-1",
		"NEWSDATA_WINDOW_LIMIT": "many", "INFO_RETENTION_DAYS": "0",
		"SEED_ENGINE_ITEMS": "some", "REDIS_URL": "sesame", "NAVER_CLIENT_SECRET": "sesame",
		"ALERT_WEBHOOK_URL": "hooks.example/sesame", "PUBLIC_URL": "https://news.example.com/?a=b",
	} {
		_, err := infoOf(map[string]string{name: v})
		var e *contract.Error
		if !errors.As(err, &e) || e.Field != name || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s=%s: %v", name, v, err)
		}
	}
}

// Deployed Workers reach Redis over the internet: the password is sent encrypted, or not at all.
func TestInfo_RedisIsEncrypted(t *testing.T) {
	for environment, refused := range map[string]bool{Development: false, "staging": true, "production": true} {
		for scheme, wrong := range map[string]bool{"redis": refused, "rediss": false, "http": true} {
			_, err := infoOf(map[string]string{"ENVIRONMENT": environment, "REDIS_URL": scheme + "://:sesame@h:1"})
			var e *contract.Error
			if wrong != errors.As(err, &e) || wrong && (e.Field != "REDIS_URL" ||
				!strings.Contains(e.Message, "rediss://") || strings.Contains(e.Message, "sesame")) {
				t.Errorf("%s:// in %s: %v", scheme, environment, err)
			}
		}
	}
}
