package fetch

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Answer is the result of a Fetch. Session methods never return nil: after an error it records how far the request
// got.
type Answer struct {
	URL      string        // requested last, in the form of Guard
	Status   int           // last status received; 0 if nothing answered
	Header   http.Header   // received with Status; nil if nothing answered
	Hops     []Hop         // the redirects followed, in order
	Requests int           // requests sent, including retries and redirects
	Retries  int           // of them, those sent again after a failure
	Elapsed  time.Duration // from the start of the last answered request to its headers
	// Body is the decoded content, never nil. It is empty after an error, for HEAD, 204 and 304. The host stays
	// occupied until Body is read to its end or closed.
	Body    *Body
	Content []byte // the whole Body, if Target.Whole

	answered string // the URL that sent Status
}

// Hop is one redirect.
type Hop struct {
	URL    string
	Status int
}

// Body reads the content of an Answer up to Target.MaxBytes. Its errors are *contract.Error of the
// kinds Network and Timeout.
type Body struct {
	url       string
	content   io.ReadCloser
	left      int64 // bytes until the cap
	size      int64
	truncated bool
	err       error  // of every later Read
	done      func() // releases the host
}

// Read implements io.Reader. At the cap it returns io.EOF and cancels the rest.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > b.left+1 { // the extra byte shows whether there is more
		p = p[:b.left+1]
	}
	n, err := b.content.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), io.EOF
		b.truncated = true
	}
	b.left -= int64(n)
	b.size += int64(n)
	if err != nil {
		if err != io.EOF {
			err = located(err, b.url)
		}
		b.end(err)
	}
	return n, err
}

// Close cancels the unread rest and releases the host. It may be called more than once.
func (b *Body) Close() error {
	b.end(io.ErrClosedPipe)
	return nil
}

// Size returns the number of bytes read so far.
func (b *Body) Size() int64 { return b.size }

// Truncated reports, after Read returned io.EOF, whether the content is longer than the cap.
func (b *Body) Truncated() bool { return b.truncated }

func (b *Body) end(err error) {
	if b.err != nil {
		return
	}
	b.err = err
	b.content.Close() // nothing more is read, so its error does not matter
	b.done()
}

func emptyBody() *Body { return &Body{err: io.EOF} }

// located prefixes the message of a Transport's error with the URL.
func located(err error, link string) error {
	var e *contract.Error
	if !errors.As(err, &e) {
		return &contract.Error{Kind: contract.KindOf(err), Op: "fetch.Session", Message: link + " was not fetched",
			Err: err}
	}
	c := *e
	c.Op, c.Message = "fetch.Session", link+": "+e.Message
	return &c
}
