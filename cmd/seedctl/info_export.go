package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/redis"
)

func infoExportCommand() *cobra.Command {
	r := newRemoteOf(infoCollector, &cobra.Command{
		Use:   "export",
		Short: "all articles",
		Args:  noArgs,
		Long: `Prints all articles, those that were taken down as well, one JSON object a line, in the order of
their ids. "info import" reads that, also into the other kind of database.`,
		Example: `  seedctl info export > articles.jsonl
  seedctl info export --url https://old.example.com > old.jsonl`,
	})
	return r.command(func(ctx context.Context, _ []string) error {
		return eachPage(ctx, r, []string{"info", "export"}, url.Values{}, func(page *info.Export) (*string, error) {
			for _, a := range page.Articles {
				if err := writeJSON(r.out, a); err != nil {
					return nil, err
				}
			}
			return page.Next, nil
		})
	})
}

func infoImportCommand() *cobra.Command {
	r := newRemoteOf(infoCollector, &cobra.Command{
		Use:               "import [flags] [FILE…]",
		ValidArgsFunction: files,
		Short:             "store what \"info export\" wrote, or what a Redis has",
		Long: `Stores the articles of files, or of standard input. Known ones take only what they lack, and what
was taken down stays so: an import may be repeated. Lines that cannot be stored are named, and the
exit code is 1. With --redis it reads the articles that the original service, or this one, left in
Redis (the hashes news:article:{id}).

With --json it prints {"inserted", "updated", "refused"}.`,
		Example: `  seedctl info import articles.jsonl
  seedctl info import --redis rediss://:password@redis.example.com:6379`,
	})
	from := r.flags.String("redis", "", "`URL` of a Redis to read articles from")
	return r.command(func(ctx context.Context, files []string) error {
		p := articleImporter{ctx: ctx, remote: r, sum: info.Imported{Refused: []info.RefusedArticle{}}}
		var err error
		switch {
		case *from != "" && len(files) > 0:
			return usageError("name files or --redis, not both")
		case *from != "":
			err = p.redis(*from)
		default:
			if len(files) == 0 {
				files = []string{"-"}
			}
			for _, name := range files {
				if err == nil {
					err = p.file(name, r.in)
				}
			}
		}
		if err == nil {
			err = p.send()
		}
		if err == nil {
			var refreshed struct{}
			err = r.Call(ctx, client.Request{Method: "POST", Path: []string{"info", "cache", "refresh"},
				Body: struct{}{}}, &refreshed)
		}
		r.progress.clear()
		if err != nil {
			return err
		}
		if err := r.show(p.sum, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s inserted, %d completed, %d refused\n", count(p.sum.Inserted, "article"),
				p.sum.Updated, len(p.sum.Refused))
			return err
		}); err != nil {
			return err
		}
		if len(p.sum.Refused) > 0 {
			return errReported
		}
		return nil
	})
}

// articleImporter sends articles in parts.
type articleImporter struct {
	ctx    context.Context
	remote *remote
	sum    info.Imported
	part   []json.RawMessage
	size   int
}

const (
	maxArticleLine  = 64 << 10 // bytes; the longest texts take half of it
	articlesPerPart = 200
)

func (p *articleImporter) file(name string, in io.Reader) error {
	return eachLine(name, in, maxBatchBytes, func(line []byte, at string) error {
		var a info.Exported
		if json.Unmarshal(line, &a) != nil || len(line) > maxArticleLine {
			p.refuse(info.RefusedArticle{ID: at, Reason: "is not a line of an export"})
			return nil
		}
		return p.add(bytes.Clone(line))
	})
}

func (p *articleImporter) refuse(r info.RefusedArticle) {
	p.sum.Refused = append(p.sum.Refused, r)
	p.remote.complain("%s: %s", plain(r.ID), plain(r.Reason))
}

func (p *articleImporter) add(article json.RawMessage) error {
	if len(p.part) == articlesPerPart || p.size+len(article) > maxBatchBytes {
		if err := p.send(); err != nil {
			return err
		}
	}
	p.part, p.size = append(p.part, article), p.size+len(article)
	return nil
}

func (p *articleImporter) send() error {
	if len(p.part) == 0 {
		return nil
	}
	var done info.Imported
	if err := p.remote.Call(p.ctx, client.Request{Method: "POST", Path: []string{"info", "import"},
		Body: map[string]any{"articles": p.part}}, &done); err != nil {
		return err
	}
	p.part, p.size = nil, 0
	p.sum.Inserted, p.sum.Updated = p.sum.Inserted+done.Inserted, p.sum.Updated+done.Updated
	for _, r := range done.Refused {
		p.refuse(r)
	}
	p.remote.progress.update(-1, count(p.sum.Inserted+p.sum.Updated, "article")+" stored")
	return nil
}

// redis reads the articles of a Redis.
func (p *articleImporter) redis(address string) error {
	client, err := redis.New(address, func(ctx context.Context, address string, encrypted bool) (net.Conn, error) {
		if encrypted {
			return (&tls.Dialer{}).DialContext(ctx, "tcp", address)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	})
	if err != nil {
		return usageError("--redis: " + err.Error())
	}
	defer client.Close()
	for cursor := "0"; ; {
		replies, err := client.Do(p.ctx, []string{"SCAN", cursor, "MATCH", "news:article:*", "COUNT", "200"})
		if err != nil {
			return err
		}
		page, _ := replies[0].([]redis.Reply)
		if len(page) != 2 {
			return errors.New("redis: SCAN answers with something else than a cursor and keys")
		}
		keys, _ := page[1].([]redis.Reply)
		var commands [][]string
		for _, key := range keys {
			if name, ok := key.(string); ok {
				commands = append(commands, []string{"HGETALL", name})
			}
		}
		if len(commands) > 0 {
			if replies, err = client.Do(p.ctx, commands...); err != nil {
				return err
			}
			for _, hash := range replies {
				if err := p.hash(hash); err != nil {
					return err
				}
			}
		}
		if cursor, _ = page[0].(string); cursor == "0" || cursor == "" {
			return nil
		}
	}
}

// hash adds the article of a hash; one that expired meanwhile is empty. SCAN may give one twice, which changes nothing.
func (p *articleImporter) hash(reply redis.Reply) error {
	list, _ := reply.([]redis.Reply)
	fields := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		fields[name], _ = list[i+1].(string)
	}
	if len(fields) == 0 {
		return nil
	}
	orNull := func(name string) *string {
		if v := strings.TrimSpace(fields[name]); v != "" && v != "None" { // Python's null
			return &v
		}
		return nil
	}
	a := info.Exported{Public: info.Public{ID: fields["id"], URL: fields["url"], Title: fields["title"],
		Snippet: fields["snippet"], Source: fields["source"], SourceName: fields["source_name"],
		PublishedAt: fields["published_at"], ThumbnailURL: orNull("thumbnail_url"), Category: orNull("category"),
		SourceIconURL: orNull("source_icon_url"), VideoURL: orNull("video_url"), AITag: orNull("ai_tag")}}
	_ = json.Unmarshal([]byte(fields["keywords"]), &a.Keywords) // none if it is not JSON
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return p.add(text)
}
