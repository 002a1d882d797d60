package collector

import (
	"context"
	"net/http"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
)

// homePage asks for the home page: what the server says of itself, and the feeds it declares.
func (g *gathering) homePage(ctx context.Context) error {
	f := g.facts
	f.feeds = []contract.Feed{}
	a, failure := g.session.Fetch(ctx, fetch.Target{
		URL:    f.origin.Scheme + "://" + f.origin.Host + "/",
		Accept: "text/html, application/xhtml+xml, */*;q=0.5", Timeout: g.Settings.PageTimeout,
		MaxBytes: maxPageBytes, Whole: true,
	})
	g.stopped(failure)
	header := a.Header
	if a.Status == 0 {
		header = f.origin.Answer.Header
	}
	f.server = serverInfo(header)
	return nil
}

func serverInfo(h http.Header) contract.ServerInfo {
	return contract.ServerInfo{Server: contract.Text(h.Get("Server")), ContentEncoding: contract.Text(h.Get("Content-Encoding"))}
}
