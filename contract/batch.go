package contract

import "iter"

// Limits of one queue message and of one sendBatch call, in bytes. Each message counts MessageOverhead more than
// its body (developers.cloudflare.com/queues/platform/limits/).
const (
	MaxMessageBytes  = 128_000
	MaxBatchBytes    = 256_000
	MaxBatchMessages = 100
	MessageOverhead  = 100
)

// Batch collects the messages of one sendBatch call, up to the platform's limits. Reset makes it reusable. All
// messages are in one buffer, which crosses into JavaScript with one copy.
type Batch struct {
	buf  []byte
	ends []int // of the messages in buf
	size int   // bodies and overheads
}

// Separator separates the messages of a batch. Unlike a line feed it cannot occur in JSON (RFC 7464 uses it for the
// same purpose).
const Separator = '\x1e'

// Add appends a message, one JSON value, and reports whether it fitted. If not, the caller sends the batch, resets
// it and adds the message again. A message over MaxMessageBytes never fits; see Fits.
func (b *Batch) Add(body []byte) bool {
	if len(b.ends) == MaxBatchMessages || b.size+len(body)+MessageOverhead > MaxBatchBytes || !Fits(len(body)) {
		return false
	}
	if len(b.ends) > 0 {
		b.buf = append(b.buf, Separator)
	}
	b.buf = append(b.buf, body...)
	b.ends = append(b.ends, len(b.buf))
	b.size += len(body) + MessageOverhead
	return true
}

// Fits reports whether a body of n bytes can be sent at all.
func Fits(n int) bool { return n+MessageOverhead <= MaxMessageBytes }

// Len returns the number of messages.
func (b *Batch) Len() int { return len(b.ends) }

// Messages iterates over the messages in order. They are valid until the next Add or Reset.
func (b *Batch) Messages() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		at := 0
		for _, end := range b.ends {
			if !yield(b.buf[at:end]) {
				return
			}
			at = end + 1
		}
	}
}

// Bytes returns the messages with a Separator between each two, valid until the next Add or Reset.
func (b *Batch) Bytes() []byte { return b.buf }

// Reset empties the batch and keeps its buffer.
func (b *Batch) Reset() { b.buf, b.ends, b.size = b.buf[:0], b.ends[:0], 0 }
