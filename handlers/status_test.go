package handlers_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestStatus_JSON(t *testing.T) {
	f := open(t)
	data := get[map[string]json.RawMessage](t, f, "GET", "/api/v1/seeds/status", "")
	for field, want := range map[string]string{
		"processing_stats": `{"files_total":2,"files_processed":1,"files_failed":1,"files_pending":0,` +
			`"domains_total":4,"domains_processed":2,"domains_failed":1,"domains_pending":1}`,
		"collection_stats": `{"robots_txt_found":2,"robots_txt_rate":0.5,"sitemap_xml_found":0,"sitemap_xml_rate":0,` +
			`"avg_processing_time_ms":1250}`,
		"domains_excluded": `1`,
		"dead_letters":     `{"stored":3,"replayed":0,"discarded":0}`,
		"queues": `{"dlq":null,"domain":{"messages":3,"bytes":300,"oldest":"2026-01-28T09:59:00Z"},` +
			`"seed":{"messages":3,"bytes":300,"oldest":"2026-01-28T09:59:00Z"}}`,
		"paused":     `false`,
		"updated_at": `"2026-01-28T10:00:00Z"`,
	} {
		if string(data[field]) != want {
			t.Errorf("%s: %s, want %s", field, data[field], want)
		}
	}
	if data["partitions"] != nil || data["trend"] != nil || data["errors"] != nil {
		t.Errorf("what was not asked for is there: %s", data)
	}
	one := get[contract.Status](t, f, "GET", "/api/v1/seeds/status?country=SG&category=news&date=2026-01-29", "")
	if one.Processing.DomainsTotal != 1 || one.Processing.FilesTotal != 0 {
		t.Errorf("of one partition: %+v", one.Processing)
	}
	more := get[contract.Status](t, f, "GET", "/api/v1/seeds/status?by=partition,error_type&trend=2", "")
	if len(more.Partitions) != 2 || more.Partitions[0].Partition.Date != "2026-01-29" || len(more.Trend) != 2 ||
		more.Trend[0].DomainsProcessed != 2 || len(more.Errors) != 2 {
		t.Errorf("with all extras: %+v", more)
	}
	for query, field := range map[string]string{
		"country=Singapore": "country", "date=2026-02-30": "date", "by=domain": "by", "trend=0": "trend",
		"trend=169": "trend", "trend=many": "trend",
		"category=a&category=b": "category", "x=1": "x",
	} {
		if r := f.do(t, "GET", "/api/v1/seeds/status?"+query, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", query, r.status, r.Error)
		} else if sent, named := strings.CutPrefix(query, "country="); named &&
			!strings.Contains(r.Error.Message, strconv.Quote(sent)) {
			t.Errorf("%s is not quoted as it was sent: %s", query, r.Error.Message)
		}
	}
}
