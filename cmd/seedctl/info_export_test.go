//go:build unix

package main

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/redis"
)

// What one service exports another imports: the same articles, and those that were taken down stay so.
func TestInfo_ExportImport(t *testing.T) {
	newInfoService(t)
	run := func(in, line string, code int, wants ...string) string {
		t.Helper()
		got, out, errOut := seedctl(in, words(line)...)
		for _, want := range wants {
			if !strings.Contains(out+errOut, want) {
				t.Errorf("%s: lacks %q: %s%s", line, want, out, errOut)
			}
		}
		if got != code {
			t.Errorf("%s: exit code %d, not %d: %s%s", line, got, code, out, errOut)
		}
		return out
	}
	run("", "info collect naver", exitOK)
	run("", "info remove https://press.example/2", exitOK)
	articles := run("", "info articles --json", exitOK)
	export := run("", "info export", exitOK, `"is_deleted":true`, "태양광 발전 역대 최대")
	if strings.Count(export, "\n") != 2 {
		t.Errorf("%s", export)
	}

	newInfoService(t) // an empty one
	run(export, "info import", exitOK, "2 articles inserted, 0 completed, 0 refused")
	if got := run("", "info articles --json", exitOK); got != articles {
		t.Errorf("readers get %s, not %s", got, articles)
	}
	if got := run("", "info export", exitOK); got != export {
		t.Errorf("exported again: %s, not %s", got, export)
	}
	run(export, "info import --json", exitOK, `{"inserted":0,"updated":0,"refused":[]}`)
	bad := strings.ReplaceAll(export, `"source":"naver"`, `"source":"radio"`)
	run("x\n"+bad, "info import", exitFailed, "is not a line of an export", `source "radio" is none of`, "3 refused")
	run("", "info import --redis http://a.example", exitUsage, "redis://")
	run("", "info import --redis redis://a.example a.jsonl", exitUsage, "not both")
}

// The original service left its newest articles in Redis.
func TestInfo_ImportRedis(t *testing.T) {
	server := infotest.Redis(t)
	address := "redis://:" + url.QueryEscape(infotest.Password) + "@" + server.Address
	c, err := redis.New(address, func(ctx context.Context, address string, _ bool) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(t.Context(), []string{"ZADD", "news:feed:all", "1769590800000", "naver_abc123"},
		[]string{"HSET", "news:article:naver_abc123", "id", "naver_abc123", "url", "https://press.example/1", "title",
			"태양광", "snippet", "발전", "source", "naver", "source_name", "press.example", "published_at",
			"2026-01-28T09:00:00+00:00", "thumbnail_url", "", "category", "energy", "keywords", `["solar"]`},
		[]string{"HSET", "news:article:bad", "id", "bad", "url", ""}); err != nil {
		t.Fatal(err)
	}
	newInfoService(t)
	code, out, errOut := seedctl("", "info", "import", "--redis", address)
	if code != exitFailed || !strings.Contains(out, "1 article inserted, 0 completed, 1 refused") ||
		!strings.Contains(errOut, "bad: ") {
		t.Errorf("%d %s%s", code, out, errOut)
	}
	want := `"id":"naver_abc123","title":"태양광","url":"https://press.example/1","snippet":"발전","source":"naver",` +
		`"source_name":"press.example","published_at":"2026-01-28T09:00:00+00:00","thumbnail_url":null,` +
		`"category":"energy","source_icon_url":null,"video_url":null,"keywords":["solar"],"ai_tag":null`
	if _, out, errOut := seedctl("", "info", "articles", "--json"); !strings.Contains(out, want) {
		t.Errorf("%s%s", out, errOut)
	}
}
