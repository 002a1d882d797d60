package robots

import "time"

// MaxRedirects is the number of redirects in a row that are followed, across hosts too. The rules apply to the first
// host (RFC 9309 section 2.3.1.2).
const MaxRedirects = 5

// MaxAge limits the use of a fetched file (RFC 9309 section 2.4).
const MaxAge = 24 * time.Hour

// Access is the outcome of a request for /robots.txt, in the terms of RFC 9309 section 2.3.1.
type Access uint8

const (
	// Successful: there is a file, and its rules apply.
	Successful Access = iota
	// Unavailable: the host has none (any 4xx, a web page, endless redirects). Everything is allowed.
	Unavailable
	// Unreachable: it is unclear whether there is one (5xx, network errors), and nothing is allowed.
	Unreachable
	// NotModified: the file that was stored earlier is still valid.
	NotModified
)

// Fetched is an attempt to get /robots.txt, after the redirects that were followed.
type Fetched struct {
	Status      int    // of the last answer; 0 when nothing answered
	Redirects   int    // followed before it
	Failed      bool   // no answer, an incomplete one, or a redirect that must not be followed
	ContentType string // of the last answer
	Body        []byte // of the last answer: up to MaxBytes, and one byte more if there is more
	Stored      *File  // what the request was conditional on, or nil
}

// Result is the outcome of an attempt.
type Result struct {
	Access Access
	// File holds the rules that apply, for every Access: those of the fetched or the stored file, none, or one that
	// forbids everything.
	File *File
	// Exists: the host has a robots.txt file.
	Exists bool
}

// Evaluate applies the status rules of RFC 9309 section 2.3.1.
func Evaluate(f Fetched) Result {
	unavailable := Result{Access: Unavailable, File: new(File)}
	unreachable := Result{Access: Unreachable, File: Parse([]byte("User-agent: *\nDisallow: /"))}
	switch status := f.Status; {
	case 400 <= status && status < 500:
		return unavailable // the body, even one that broke off, does not matter
	case f.Failed, status < 200, status >= 500:
		return unreachable
	case status == 304 && f.Stored != nil:
		return Result{NotModified, f.Stored, true}
	case status == 304:
		return unreachable // an answer to a question not asked
	case status >= 300, f.Redirects > MaxRedirects:
		return unavailable
	case status == 204, status == 205:
		return unavailable // no content
	}
	file := Parse(f.Body)
	if file.IsHTML || hasPrefixFold(trim(f.ContentType), "text/html") && len(file.records) == 0 {
		unavailable.File = file
		return unavailable
	}
	return Result{Successful, file, true}
}
