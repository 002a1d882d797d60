package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/engine"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/sqlite"
	"github.com/newsfork/seed-engine/settings"
)

// inspectTop is the number of URLs that are shown to people.
const inspectTop = 10

func inspectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect [flags] DOMAIN|URL | --page URL|FILE…",
		Short: "what the engine finds out about a domain, without an engine",
		Long: `Asks the domain for robots.txt, sitemaps, its home page and feeds as the engine would, with the same
pauses and limits, and shows the contract: whether it may be crawled, where new URLs appear, and
which matter most. Nothing is stored. It takes some seconds: there is a pause after every request.

With --web DIR nothing is requested: answers are files below DIR/HOST, where a mirroring wget puts
them.

With --json it is the document that the engine would write, domain_metadata.json.

With --page it shows the evidence of single pages instead: titles, headings, breadcrumb, the
beginning of the text, counts and dates, which tell the classifier more than a URL does. A FILE is a
saved page, "-" is standard input; a URL is fetched after the robots.txt of its host. With --json
there is one line a page: {"file" or "url", "page"}, where page is what classify --jsonl takes.`,
		Example: `  seedctl inspect mom.gov.sg
  seedctl inspect --json https://www.bbc.com/news | jq .fetch_contract
  wget -m -l 2 https://www.example.com; seedctl inspect --web . www.example.com
  seedctl inspect --page https://www.example.com/news/2026/bridge-reopens
  seedctl inspect --page --json saved/*.html > pages.jsonl`,
	}
	flags := cmd.Flags()
	agent := flags.String("agent", "", "`User-Agent` to send, whose product token picks the group of robots.txt")
	saved := flags.String("web", "", "`DIR` with saved answers instead of the web")
	cobra.CheckErr(cmd.MarkFlagDirname("web"))
	asJSON := flags.Bool("json", false, "print the whole document")
	pages := flags.Bool("page", false, "show the evidence of single pages, URLs or saved files")
	signing := addSigningFlags(cmd)
	verbose := flags.Bool("verbose", false, "print each request and its answer on standard error")
	cmd.RunE = func(cmd *cobra.Command, targets []string) error {
		switch {
		case *pages && len(targets) == 0:
			return usageError("name a page: a URL, a file, or - for standard input")
		case !*pages && len(targets) != 1:
			return usageError("name one domain or URL")
		}
		web, clock := fetch.NewTransport(), fetch.SystemClock()
		if *saved != "" {
			root, err := os.OpenRoot(*saved)
			if err != nil {
				return err
			}
			defer root.Close()
			web, clock = savedWeb{root}, &impatient{}
		}
		if *verbose {
			web = narrated{web, cmd.ErrOrStderr()}
		}
		web, err := signing.sign(web)
		if err != nil {
			return err
		}
		if *pages {
			visitor := pageVisitor{agent: cmp.Or(*agent, settings.DefaultUserAgent), web: web, clock: clock}
			return inspectPages(cmd, targets, &visitor, *asJSON)
		}
		doc, err := inspectSite(targets[0], *agent, web, clock)
		if err == nil {
			err = showInspection(cmd.OutOrStdout(), doc, *asJSON)
		}
		if err == nil && !doc.Reachable {
			err = errReported
		}
		return err
	}
	return cmd
}

// inspectSite collects a domain until Ctrl-C.
func inspectSite(link, agent string, web fetch.Transport, clock fetch.Clock) (*contract.Document, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	shards := &sqlite.Shards{Settings: shard.Settings{HostsPerDomain: 4, URLsPerDomain: 500, Shards: 1}}
	defer shards.Close()
	variables := map[string]string{"USER_AGENT": agent}
	inspector := engine.Inspector{
		Transport: web, Frontier: shards, Clock: clock, Model: embedded.Load, Log: slog.New(slog.DiscardHandler),
		Variable: func(name string) (string, bool) { v := variables[name]; return v, v != "" },
	}
	if !strings.Contains(link, "://") {
		link = "https://" + link
	}
	doc, err := inspector.Inspect(ctx, link)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return doc, err
}

func showInspection(out io.Writer, doc *contract.Document, asJSON bool) error {
	if asJSON {
		return writeJSON(out, doc)
	}
	var found discovery.Discovery
	var terms discovery.FetchContract
	if err := errors.Join(json.Unmarshal(doc.Discovery, &found), json.Unmarshal(doc.Contract, &terms)); err != nil {
		return err
	}
	var about []string
	add := func(label, format string, args ...any) {
		about = append(about, label+"\t"+fmt.Sprintf(format, args...))
	}
	add("domain", "%s", plain(doc.Domain))
	addDocument(doc, add)
	entries := []string{"\nENTRY POINT\tTYPE\tEVERY\tURL"}
	for _, e := range terms.EntryPoints {
		entries = append(entries, fmt.Sprintf("%s\t%s\t%s\t%s", plain(string(e.Method)), or(e.ContentType),
			minutes(e.IntervalMinutes), plain(e.URL)))
	}
	urls := []string{"\nSCORE\tTYPE\tACTION\tURL"}
	for i, u := range found.URLs {
		if i == inspectTop || !doc.Reachable { // of an unreachable domain they are those that were asked about
			break
		}
		urls = append(urls, fmt.Sprintf("%.3f\t%s\t%s\t%s", u.Priority, plain(string(u.Classification.PrimaryType)),
			plain(string(u.Action)), plain(u.URL)))
	}
	return errors.Join(
		table(out, about...),
		tableIf(len(entries) > 1, out, entries),
		tableIf(len(urls) > 1, out, urls),
	)
}

func minutes(n int) string {
	return strings.TrimSuffix(strings.TrimSuffix((time.Duration(n)*time.Minute).String(), "0s"), "0m")
}

// savedWeb answers from files: those of a host in the directory of its name.
type savedWeb struct{ root *os.Root }

// Do implements fetch.Transport. A host without a directory does not resolve.
func (w savedWeb) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fetch.Failure(nil, err)
	}
	if _, err := w.root.Stat(u.Hostname()); err != nil {
		return nil, fetch.Failure(fetch.ErrNotResolved, err)
	}
	name := path.Join(u.Hostname(), u.Path)
	if strings.HasSuffix(u.Path, "/") {
		name = path.Join(name, "index.html")
	}
	if u.RawQuery != "" {
		name += "?" + u.RawQuery
	}
	answer := &fetch.Response{Status: http.StatusOK, Header: http.Header{}}
	data, err := w.root.ReadFile(filepath.FromSlash(name))
	if err != nil {
		answer.Status = http.StatusNotFound
		if !errors.Is(err, fs.ErrNotExist) {
			answer.Status = http.StatusInternalServerError
		}
		data = nil
	}
	answer.Header.Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(u.Path)), "text/html"))
	if r.Method == http.MethodHead {
		data = nil
	}
	answer.Body = io.NopCloser(bytes.NewReader(data))
	return answer, nil
}

// impatient is a clock on which waiting takes no time: files need no pauses.
type impatient struct{ ahead atomic.Int64 }

func (c *impatient) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *impatient) Sleep(ctx context.Context, d time.Duration) error {
	c.ahead.Add(int64(d))
	return ctx.Err()
}

// narrated is a Transport that prints what it does.
type narrated struct {
	fetch.Transport
	w io.Writer
}

func (n narrated) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	began := time.Now()
	answer, err := n.Transport.Do(ctx, r)
	outcome := "failed: "
	if err == nil {
		outcome = fmt.Sprint(answer.Status)
	} else {
		outcome += plain(err.Error())
	}
	fmt.Fprintf(n.w, "%s %s: %s, %d ms\n", r.Method, plain(r.URL), outcome, time.Since(began).Milliseconds())
	return answer, err
}
