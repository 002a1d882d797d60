package engine

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/newsfork/seed-engine/settings"
)

// Every limit of a collection has the value of the setting with its name.
func TestLimits_FromSettings(t *testing.T) {
	n := 100
	s, err := settings.Read(func(name string) (string, bool) {
		switch name {
		case "ENVIRONMENT", "USER_AGENT", "ALERT_WEBHOOK_URL", "ALERT_WEBHOOK_SECRET", "PUBLIC_URL", "FEED_WEBHOOK_URL",
			"FEED_WEBHOOK_SECRET",
			"INFO_COLLECTOR_URL", "LOCATION", "FETCH_RETRIES", "LEDGER_RETENTION_DAYS", "FRESHNESS",
			"FEED_RETENTION_DAYS", "LOG_SAMPLE", "SIGNING_KEY", "SIGNATURE_AGENT", "SIGN_REQUESTS",
			"SCRAPER_USER_AGENT", "OPERATOR_CONTACT":
			return "", false
		}
		n++
		return strconv.Itoa(n), true
	})
	if err != nil {
		t.Fatal(err)
	}
	have, want := reflect.ValueOf(limits(s)), reflect.ValueOf(*s)
	for i := range have.NumField() {
		name := have.Type().Field(i).Name
		if v := want.FieldByName(name); !v.IsValid() || !v.Equal(have.Field(i)) || v.IsZero() {
			t.Errorf("%s is %v, the setting %v", name, have.Field(i), v)
		}
	}
}
