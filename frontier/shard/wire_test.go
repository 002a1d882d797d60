package shard

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

var update = flag.Bool("update", false, "add what is new to testdata/wire.txt")

// TestWire: what the version before sends and reads is still there. testdata/wire.txt has a line for
// each field that ever crossed between Worker and shard; lines are only added (go test -update).
func TestWire(t *testing.T) {
	types := map[string][2]any{
		"put": {frontier.Put{}, frontier.PutAnswer{}}, "put_all": {frontier.PutAll{}, []frontier.PutAnswer{}},
		"lease": {frontier.LeaseRequest{}, frontier.Lease{}}, "report": {frontier.Report{}, frontier.ReportAnswer{}},
		"renew_lease":   {frontier.RenewLease{}, frontier.RenewedLease{}},
		"release_lease": {frontier.ReleaseLease{}, 0},
		"acquire":       {frontier.AcquireRequest{}, frontier.Acquired{}}, "renew": {frontier.RenewRequest{}, false},
		"release": {frontier.ReleaseRequest{}, false}, "mirror": {frontier.MirrorRequest{}, frontier.MirrorAnswer{}},
		"stats": {frontier.None{}, frontier.Stats{}}, "hosts": {frontier.HostsRequest{}, frontier.HostsPage{}},
		"url":  {frontier.UrlRequest{}, frontier.URLState{}},
		"urls": {frontier.URLsRequest{}, frontier.URLStates{}}, "host": {frontier.HostRequest{}, frontier.HostDetail{}},
		"set_host": {frontier.SetHostRequest{}, false}, "exclude": {frontier.ExcludeRequest{}, frontier.None{}},
		"export":  {frontier.ExportRequest{}, frontier.Snapshot{}},
		"restore": {frontier.Snapshot{}, 0}, "snapshot": {frontier.None{}, false}, "tick": {TickRequest{}, Tick{}},
		"stored":     {frontier.StoredRequest{}, frontier.None{}},
		"feed":       {frontier.FeedRequest{}, frontier.FeedPage{}},
		"changes":    {frontier.ChangesRequest{}, frontier.ChangesPage{}},
		"changed":    {frontier.Changed{}, frontier.None{}},
		"entries":    {frontier.EntriesRequest{}, frontier.EntryList{}},
		"pages":      {frontier.PagesRequest{}, frontier.PageList{}},
		"quarantine": {frontier.QuarantineRequest{}, frontier.QuarantinePage{}},
		"drop_row":   {frontier.QuarantinedID{}, false}, "restore_row": {frontier.QuarantinedID{}, false},
		"begin_refresh":   {frontier.RefreshRequest{}, frontier.RefreshGrant{}},
		"begin_refreshes": {frontier.RefreshRequests{}, frontier.RefreshGrants{}},
		"end_refresh":     {frontier.RefreshResult{}, frontier.RefreshEnd{}},
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		pair, ok := types[name]
		if !ok {
			t.Errorf("the test lacks the types of %s", name)
			continue
		}
		lines = append(lines, shape(name+" request", reflect.TypeOf(pair[0]))...)
		lines = append(lines, shape(name+" answer", reflect.TypeOf(pair[1]))...)
	}
	lines = append(lines, shape("error", reflect.TypeFor[frontier.WireError]())...)
	const path = "testdata/wire.txt"
	known, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(known)) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			t.Errorf("%q is gone: the version before has it, and will be there for minutes of the next deploy", line)
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	if *update && !t.Failed() {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(known) {
		t.Error("something is new: run this test with -update")
	}
}

// shape returns the fields of a type as JSON has them, a line each.
func shape(path string, typ reflect.Type) []string {
	switch typ.Kind() {
	case reflect.Pointer:
		return shape(path, typ.Elem())
	case reflect.Slice, reflect.Array:
		if typ.Elem().Kind() == reflect.Uint8 {
			return []string{path + " bytes"}
		}
		return shape(path+"[]", typ.Elem())
	case reflect.Struct:
		lines := []string{}
		for _, f := range reflect.VisibleFields(typ) {
			if f.Anonymous || !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			lines = append(lines, shape(path+"."+name, f.Type)...)
		}
		return lines
	}
	return []string{fmt.Sprint(path, " ", typ.Kind())}
}

// TestServe_Tolerates: fields of a later version are ignored, and operations of one are refused.
func TestServe_Tolerates(t *testing.T) {
	for _, c := range []struct{ name, request, code, field string }{
		{"later", `{}`, "unknown_operation", ""},
		{"", ``, "unknown_operation", ""},
		{"put", `{"Domain":`, "parse_error", ""},
		{"put", `[]`, "parse_error", ""},
		{"put", `{"Domain":"x","Later":[{"a":1}]}`, "validation_error", "domain"},
		{"lease", `{"Max":1,"Seconds":9,"Later":true}`, "validation_error", "lease_seconds"},
	} {
		a := (&Shard{}).Serve(0, c.name, []byte(c.request))
		var e frontier.Envelope
		if err := json.Unmarshal(a.Text, &e); err != nil || a.OK || e.Answer != nil || e.Error == nil ||
			e.Error.Code != c.code || e.Error.Field != c.field || e.Error.Message == "" {
			t.Errorf("%s %s: %s, %v", c.name, c.request, a.Text, a.OK)
		}
	}
}
