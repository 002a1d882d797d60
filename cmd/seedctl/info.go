package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/info"
)

// The two Workers of the Info service.
var (
	infoCollector = target{
		Service: client.Service{
			Name: "Info service's collector", Noun: "collector", Article: "a",
			Example: "https://info-collector.example.com",
			Address: "INFO_COLLECTOR_URL", Token: "INFO_COLLECTOR_TOKEN",
		},
		local: "http://localhost:8789",
	}
	infoAPI = target{
		Service: client.Service{
			Name: "Info service", Noun: "Info service", Article: "an", Example: "https://info.example.com",
			Address: "INFO_API_URL", Bare: true,
		},
		local: "http://localhost:8788",
		page:  info.MaxLimit,
	}
)

func infoStatusCommand() *cobra.Command {
	r := newRemoteOf(infoCollector, &cobra.Command{
		Use:   "status",
		Short: "sources, their quotas and alarms",
		Args:  noArgs,
		Long: `Shows for each source when it last gave something, what came of that, what failed since, how much of
its provider's quota is used, and how many dead letters it has; then the alarms that fire.

With --json it prints the same as one object.`,
		Example: `  seedctl info status
  seedctl info status --json | jq '.sources[] | select(.failures > 0)'`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		var s info.Status
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"info", "status"}}, &s); err != nil {
			return err
		}
		return r.show(&s, func(w io.Writer) error { return writeInfoStatus(w, &s) })
	})
}

func writeInfoStatus(w io.Writer, s *info.Status) error {
	rows := []string{"SOURCE\tSUCCEEDED\tARTICLES\tNEW\tFAILURES\tRESTS UNTIL\tDEAD LETTERS\tCALLS"}
	var errors []string
	for _, one := range s.Sources {
		name := plain(one.Name)
		if !one.On {
			rows = append(rows, name+"\toff\t-\t-\t-\t-\t-\t-")
			continue
		}
		articles, inserted, gaps := lastCounts(one.Last)
		if gaps > 0 {
			errors = append(errors,
				fmt.Sprintf("gaps\t%s: more new articles than were taken, in searches: %d", name, gaps))
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s\t%d\t%s", name, moment(one.SucceededAt), articles,
			inserted,
			one.Failures, moment(one.NotBefore), one.DeadLetters, callsText(one.Quotas)))
		if one.Error != nil {
			errors = append(errors, fmt.Sprintf("error\t%s: %s", name, strings.TrimPrefix(or(one.Error), name+": ")))
		}
	}
	if err := table(w, rows...); err != nil {
		return err
	}
	if err := writeFeeds(w, s.Sources); err != nil {
		return err
	}
	rows = append([]string{""}, errors...)
	for _, a := range s.Alarms {
		text := "alarm\t" + plain(a.Name) + ": " + plain(a.Text)
		if a.Since != nil {
			text += ", since " + moment(a.Since)
		}
		rows = append(rows, text)
	}
	cache := "has every change"
	if c := s.Cache; c.ChangedAt != nil && (c.RefreshedAt == nil || c.RefreshedAt.Before(c.ChangedAt.Time)) {
		cache = "lacks what changed at " + moment(c.ChangedAt)
	}
	if s.Cache.Error != nil {
		cache = "FAULT: " + or(s.Cache.Error)
	}
	if d := s.Database; d.Bytes > 0 && d.Limit > 0 {
		rows = append(rows, fmt.Sprintf("size\t%s has %d of %d MB", plain(d.Name), d.Bytes/1e6, d.Limit/1e6))
	}
	return table(w, append(rows, "cache\t"+cache, "updated\t"+moment(s.UpdatedAt)+" UTC")...)
}

// writeFeeds shows a row per feed.
func writeFeeds(w io.Writer, sources []info.SourceStatus) error {
	rows := []string{"FEED\tSUCCEEDED\tITEMS\tFAILED\tERROR"}
	for _, s := range sources {
		for _, f := range s.Feeds {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%s\t%s", plain(f.URL), moment(f.SucceededAt), f.Items,
				moment(f.FailedAt), or(f.Error)))
		}
	}
	if len(rows) == 1 {
		return nil
	}
	return table(w, append([]string{""}, rows...)...)
}

// topics are the ids of those with which seedctl was built.
func topics() (ids []string) {
	for _, c := range info.Categories {
		ids = append(ids, string(c))
	}
	return ids
}

// lastCounts are the numbers of the last successful collection, if there was one.
func lastCounts(last json.RawMessage) (articles, inserted string, gaps int) {
	var c *info.Counts
	if json.Unmarshal(last, &c) != nil || c == nil {
		return "-", "-", 0
	}
	return fmt.Sprint(c.Articles), fmt.Sprint(c.Inserted), c.Gaps
}

// callsText shows the used share of a provider's windows, the day first.
func callsText(quotas []info.Quota) string {
	list := slices.SortedStableFunc(slices.Values(quotas), func(a, b info.Quota) int { return b.Ends.Compare(a.Ends) })
	var parts []string
	for _, q := range list {
		kind, _, _ := strings.Cut(q.Period, ":")
		window := kind
		if d, err := time.ParseDuration(kind); err == nil {
			window = fmt.Sprintf("%.0f minutes", d.Minutes())
		}
		parts = append(parts, fmt.Sprintf("%d of %d (%s)", q.Used, q.Allowed, plain(window)))
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func infoCollectCommand() *cobra.Command {
	r := newRemoteOf(infoCollector, &cobra.Command{
		Use:               "collect [flags] [SOURCE…]",
		ValidArgsFunction: oneOf(info.Sources...),
		Short:             "collect articles now",
		Long: `Collects from these sources (naver, newsdata, feed, seed), or from all that are on. A source that
rests, because its quota is spent or it failed, and one that is being collected are skipped, which
is no failure. If a source failed, the exit code is 1.

With --json each line is a collection {"source", "skipped"?, "not_before"?, "error"?, "counts"}.`,
		Example: `  seedctl info collect
  seedctl info collect feed seed`,
	})
	return r.command(func(ctx context.Context, sources []string) error {
		for _, s := range sources {
			if !info.IsSource(s) {
				return usageError(fmt.Sprintf("%q is no source; name some of %s, or none", s,
					strings.Join(info.Sources, ", ")))
			}
		}
		if len(sources) == 0 {
			sources = []string{""}
		}
		r.Limits.Patience = max(r.Limits.Patience, collectPatience)
		rows := []string{"SOURCE\tCALLS\tARTICLES\tNEW\tCHANGED\tTHUMBNAILS\tFAILED\tNOTE"}
		failed := false
		for _, s := range sources {
			done, err := r.collectInfo(ctx, s)
			if err != nil {
				return err
			}
			for _, one := range done {
				failed = failed || one.Error != ""
				if r.asJSON {
					if err := writeJSON(r.out, &one); err != nil {
						return err
					}
				}
				c := one.Counts
				rows = append(rows,
					fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s", plain(one.Source), c.Calls, c.Articles,
						c.Inserted, c.Updated, c.Thumbnails, c.Failed, note(&one)))
			}
		}
		if err := tableIf(!r.asJSON, r.out, rows); err != nil {
			return err
		}
		if failed {
			return errReported
		}
		return nil
	})
}

// collectPatience is the maximum wait for an answer: a collection takes up to five minutes a source.
const collectPatience = 15 * time.Minute

func (r *remote) collectInfo(ctx context.Context, source string) ([]info.Report, error) {
	body := map[string]string{}
	if source != "" {
		body["source"] = source
	}
	var done info.Collections
	err := r.Call(ctx, client.Request{Method: "POST", Path: []string{"info", "collect"}, Body: body, Once: true}, &done)
	return done.Collections, err
}

func note(one *info.Report) string {
	switch {
	case one.Error != "":
		return plain(one.Error)
	case one.Skipped != "" && one.NotBefore != nil:
		return "skipped: " + plain(one.Skipped) + ", rests until " + moment(one.NotBefore)
	case one.Skipped != "":
		return "skipped: " + plain(one.Skipped)
	}
	return "-"
}

// infoPage is the part of a page of articles that is read.
type infoPage struct {
	Articles   []info.Public `json:"articles"`
	NextCursor *string       `json:"next_cursor"`
}

func infoArticlesCommand() *cobra.Command {
	r := newRemoteOf(infoAPI, &cobra.Command{
		Use:   "articles",
		Short: "articles as readers get them, newest first",
		Args:  noArgs,
		Long: `Reads the API that readers use, page by page. Nothing is left out and nothing comes twice, whatever
comes meanwhile.

With --json each line is an article {"id", "title", "url", "snippet", "source", "source_name",
"published_at", "thumbnail_url", "category", "source_icon_url", "video_url", "keywords", "ai_tag"}.`,
		Example: `  seedctl info articles --category energy --limit 20
  seedctl info articles --q 태양광 --json | jq -r .url`,
	})
	category := r.flags.String("category", "", "`TOPIC`: "+strings.Join(topics(), ", "))
	completeFlag(r.cmd, "category", oneOf(topics()...))
	source := r.flags.String("source", "", "`SOURCE`: naver, newsdata, feed or seed")
	completeFlag(r.cmd, "source", oneOf(info.Sources...))
	search := r.flags.String("q", "", "`WORDS` of title or snippet")
	image := r.flags.Bool("has-image", false, "only articles with a thumbnail")
	limit := r.limitFlag()
	return r.command(func(ctx context.Context, _ []string) error {
		query := queryOf("category", *category, "source", *source, "q", *search)
		if *image {
			query.Set("has_image", "true")
		}
		return list(ctx, r, []string{"info", "news"}, query, *limit,
			func(p *infoPage) ([]info.Public, *string) { return p.Articles, p.NextCursor },
			"PUBLISHED\tTOPIC\tSOURCE\tTITLE\tURL", func(a *info.Public) string {
				return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", publishedText(a.PublishedAt), or(a.Category),
					plain(a.SourceName),
					plain(a.Title), plain(a.URL))
			})
	})
}

// publishedText writes a time of the API as other commands do.
func publishedText(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return plain(s)
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func infoRemoveCommand() *cobra.Command {
	return takedownCommand(&cobra.Command{
		Use:   "remove [flags] URL|ID",
		Short: "take an article down",
		Long: `Takes the article with this URL, in any spelling, or with this id down: readers no longer get it,
and it does not come back when a source lists it again. Caches may show it for a minute and a half.

With --json it prints {"id", "is_deleted", "refreshed"}.`,
		Example: `  seedctl info remove https://press.example/1
  seedctl info remove naver_0123456789ab`,
	}, true)
}

func infoRestoreCommand() *cobra.Command {
	return takedownCommand(&cobra.Command{
		Use:   "restore [flags] URL|ID",
		Short: "bring an article back that was taken down",
		Long: `Brings the article with this URL or id back that was taken down before.

With --json it prints {"id", "is_deleted", "refreshed"}.`,
		Example: `  seedctl info restore https://press.example/1`,
	}, false)
}

// takedownCommand completes a command that takes an article down or restores it.
func takedownCommand(cmd *cobra.Command, remove bool) *cobra.Command {
	cmd.Args = cobra.ExactArgs(1)
	r := newRemoteOf(infoCollector, cmd)
	return r.command(func(ctx context.Context, args []string) error {
		if info.Key(args[0]) == "" && !info.IsID(args[0]) {
			return usageError(fmt.Sprintf("%q is neither a URL nor an id", args[0]))
		}
		var found info.FoundArticles
		if err := r.Call(ctx, client.Request{Method: "GET", Path: []string{"info", "articles"},
			Query: queryOf("q", args[0])}, &found); err != nil {
			return err
		}
		if len(found.Articles) != 1 || info.Key(args[0]) == "" && found.Articles[0].ID != args[0] {
			r.complain("there is no article %s", plain(args[0]))
			return errReported
		}
		a := found.Articles[0]
		request := client.Request{Method: "DELETE", Path: []string{"info", "news", a.ID}}
		done := "taken down"
		if !remove {
			request = client.Request{Method: "POST", Path: []string{"info", "news", a.ID, "restore"}}
			done = "restored"
		}
		var t info.Takedown
		if err := r.Call(ctx, request, &t); err != nil {
			return err
		}
		return r.show(&t, func(w io.Writer) error {
			when := "readers see that within 90 seconds"
			if !t.Refreshed {
				when = "readers see that after the next collection"
			}
			_, err := fmt.Fprintf(w, "%s: %s (%s); %s\n", done, plain(a.Title), plain(a.ID), when)
			return err
		})
	})
}
