// Package sources collects articles from Naver's news search, NewsData.io, feeds and news sitemaps, and the Seed
// Engine's feed.
package sources

import (
	"errors"
	"net/http"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
)

// maxAnswer caps answers of searches, in bytes.
const maxAnswer = 4 << 20

// errUnreadable is the cause of an answer that differs from the provider's documentation.
var errUnreadable = errors.New("the answer is not the documented JSON")

// failed returns the error of an answer. code is the provider's own.
func failed(source string, class info.Class, a *info.Answer, code string, now time.Time) *info.UpstreamError {
	e := &info.UpstreamError{Class: class, Source: source, Status: a.Status, Code: code}
	e.RetryAfter, _ = fetch.RetryAfter(a.Header.Get("Retry-After"), a.Header.Get("Date"), now)
	return e
}

// unreadable returns the error of an unexpected answer.
func unreadable(source string, a *info.Answer) *info.UpstreamError {
	return &info.UpstreamError{Class: info.Broken, Source: source, Status: a.Status, Err: errUnreadable}
}

// isList reports whether a field is a list, or null, as some encoders write an empty one.
func isList(v gjson.Result) bool { return v.IsArray() || v.Exists() && v.Type == gjson.Null }

// byStatus classifies an answer by its status alone.
func byStatus(status int) info.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return info.Throttled
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return info.Broken
	case status >= 400 && status < 500:
		return info.Refused
	}
	return info.Broken
}

// searchClass is byStatus for a search. Only a wrong key or endpoint is about all queries; any other refusal is about
// this one.
func searchClass(status int) info.Class {
	switch class := byStatus(status); status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return class
	default:
		if class == info.Refused {
			return info.BadRequest
		}
		return class
	}
}

func statusOf(err error) int {
	var e *info.UpstreamError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}
