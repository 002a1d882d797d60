package collect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/markup"
)

const (
	pagesAtOnce  = 6 // the platform's limit of connections per event
	pagesPerHost = 10
	maxPages     = 100 // per collection
	pageTimeout  = 5 * time.Second
	pagesTimeout = 30 * time.Second // for all pages
	triedAgain   = 24 * time.Hour
)

// thumbnails looks for thumbnails on the pages of articles without one: each page at most once a day, one page of a
// host at a time. It returns the number found.
func (c *Collector) thumbnails(ctx context.Context, articles []store.New, known map[string]store.Known) (found int) {
	ctx, cancel := context.WithTimeout(ctx, pagesTimeout)
	defer cancel()
	now := c.Now()
	hosts := c.wanting(articles, known, now)
	turns := make(chan struct{}, pagesAtOnce)
	var running sync.WaitGroup
	var mu sync.Mutex
	for _, host := range hosts {
		running.Add(1)
		turns <- struct{}{}
		go func() {
			defer func() { <-turns; running.Done() }()
			for _, a := range host {
				if ctx.Err() != nil {
					return // not fetched, so not tried
				}
				image, err := c.thumbnail(ctx, a.URL)
				if ctx.Err() != nil {
					return
				}
				if err == nil && image != "" {
					mu.Lock()
					found++
					mu.Unlock()
				}
				a.ThumbnailURL, a.Tried = image, now
			}
		}()
	}
	running.Wait()
	return found
}

// wanting returns the articles that might get a thumbnail, by host.
func (c *Collector) wanting(articles []store.New, known map[string]store.Known,
	now time.Time) (hosts [][]*store.New) {
	place := map[string]int{}
	pages := 0
	for i := range articles {
		a := &articles[i]
		k := known[a.Key]
		if a.ThumbnailURL != "" || k.Thumbnail || now.Sub(k.Tried) < triedAgain || pages == maxPages {
			continue
		}
		name := markup.HostOf(a.URL)
		at, ok := place[name]
		if !ok {
			at = len(hosts)
			place[name] = at
			hosts = append(hosts, nil)
		}
		if len(hosts[at]) < pagesPerHost {
			hosts[at] = append(hosts[at], a)
			pages++
		}
	}
	return hosts
}

// thumbnail fetches one page. Redirects are followed to public websites only.
func (c *Collector) thumbnail(ctx context.Context, target string) (image string, err error) {
	defer func() { // a panic in this goroutine would end the program
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v", thrown)
		}
	}()
	for range maxHops + 1 {
		u, err := fetch.Guard(target)
		if err != nil {
			return "", err
		}
		resp, err := c.Transport.Do(ctx, &fetch.Request{
			Method: http.MethodGet, URL: u.String(), Timeout: pageTimeout,
			Header: http.Header{"User-Agent": {c.UserAgent}, "Accept": {"text/html,application/xhtml+xml;q=0.9"}},
		})
		if err != nil {
			return "", err
		}
		if next := location(u.String(), &info.Answer{Status: resp.Status, Header: resp.Header}); next != "" {
			resp.Body.Close()
			target = next
			continue
		}
		defer resp.Body.Close()
		kind := strings.ToLower(resp.Header.Get("Content-Type"))
		if resp.Status != http.StatusOK || kind != "" && !strings.Contains(kind, "html") {
			return "", errNotAPage
		}
		return info.PageImage(resp.Body, kind, u.String())
	}
	return "", errors.New("too many redirects")
}
