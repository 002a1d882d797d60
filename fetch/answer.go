package fetch

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Answer is what came of a Fetch. Session methods never return a nil one: beside an error it records
// how far the request got.
type Answer struct {
	URL      string        // the URL asked last, in the form of Guard
	Status   int           // the last status received; 0 when nothing answered
	Header   http.Header   // belongs to Status; nil when nothing answered
	Hops     []Hop         // the redirects followed, in order
	Requests int           // exchanges made for this answer, retries and redirects counted
	Retries  int           // of them, those that asked again after a failure
	Elapsed  time.Duration // from the start of the last answered request to its headers
	// Body is the content, decoded. It is never nil; it is empty beside an error, for HEAD, 204
	// and 304. The host stays occupied until it is read to its end or closed.
	Body    *Body
	Content []byte // the whole Body, already read, when Target.Whole

	answered string // the URL that gave Status
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
	err       error  // what Read answers from now on
	done      func() // gives the host's turn back
}

// Read implements io.Reader. At the cap it answers io.EOF and cancels what follows.
func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p)) > b.left+1 { // one byte more than allowed shows whether there is more
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

// Close cancels what was not read and frees the host. It may be called more than once.
func (b *Body) Close() error {
	b.end(io.ErrClosedPipe)
	return nil
}

// Size is how many bytes were read so far.
func (b *Body) Size() int64 { return b.size }

// Truncated reports, after Read answered io.EOF, that the content goes on beyond the cap.
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

// located puts the URL in front of the message of a Transport's error.
func located(err error, link string) error {
	var e *contract.Error
	if !errors.As(err, &e) {
		return &contract.Error{Kind: contract.KindOf(err), Op: "fetch.Session", Message: link + " was not fetched", Err: err}
	}
	c := *e
	c.Op, c.Message = "fetch.Session", link+": "+e.Message
	return &c
}
