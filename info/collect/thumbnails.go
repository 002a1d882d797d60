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
	pagesAtOnce  = 6 // the connections that the platform opens for one event
	pagesPerHost = 10
	maxPages     = 100 // of one collection
	pageTimeout  = 5 * time.Second
	pagesTimeout = 30 * time.Second // of all pages
	triedAgain   = 24 * time.Hour
)

// thumbnails asks the pages of articles without a thumbnail for one, each at most once a day, one page of a
// host at a time. It returns how many were found.
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
					return // what was not asked is not tried
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

// wanting are the articles that may have a thumbnail, by host.
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

// thumbnail asks one page. Nothing but a public website is asked, whatever redirects say.
func (c *Collector) thumbnail(ctx context.Context, target string) (image string, err error) {
	defer func() { // in a goroutine of its own, a panic would end the program
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
	return "", errors.New("it redirects too often")
}
