package processor

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

const (
	// maxInline caps the bytes of URLs in a message. A longer list is stored, and the message contains its key.
	maxInline = 100_000

	// pieceSize is the number of bytes of a URL list that are written at once.
	pieceSize = 256 << 10

	// Concurrent calls, as many as the platform's connections per event
	// (developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections). The raw
	// file's connection has its response already.
	callsAtOnce = 6
	listsAtOnce = 2 // of them, because each might have a part of a list in memory
)

// outbox packs the groups into messages and batches, and sends several at a time.
type outbox struct {
	ctx      context.Context
	store    Store
	sender   Sender
	file     contract.RawFile
	parts    int    // sent so far
	tail     []byte // the last members of every message of the file
	messages int
	urls     int

	batch   *contract.Batch      // being filled
	batches chan *contract.Batch // free
	calls   chan struct{}        // a semaphore for concurrent calls
	uploads chan struct{}        // a semaphore for URL lists
	sends   sync.WaitGroup
	puts    sync.WaitGroup
	message []byte

	mu  sync.Mutex
	err error // of the first send or put that failed
}

// start begins a file. No send may be in progress.
func (o *outbox) start(ctx context.Context, store Store, sender Sender, m *contract.SeedMessage,
	file contract.RawFile) {
	if o.batches == nil {
		o.batches = make(chan *contract.Batch, callsAtOnce)
		for range callsAtOnce {
			o.batches <- &contract.Batch{}
		}
		o.calls = make(chan struct{}, callsAtOnce)
		o.uploads = make(chan struct{}, listsAtOnce)
		o.batch = &contract.Batch{}
	}
	o.batch.Reset()
	o.ctx, o.store, o.sender, o.file = ctx, store, sender, file
	o.parts, o.messages, o.urls, o.err = 0, 0, 0, nil
	o.tail = contract.Encode(struct {
		Partition      contract.Partition `json:"partition_info"`
		SourceFilePath string             `json:"source_file_path"`
		Force          bool               `json:"force,omitempty"`
		RequestedAt    time.Time          `json:"requested_at,omitzero"`
	}{m.Partition, m.FilePath, m.Force, m.RequestedAt})[1:]
}

// flush sends the URLs of the domains that are due, in the end of all, and removes them from the groups. A file with a
// single flush has no parts.
func (o *outbox) flush(g *groups, last bool) error {
	part := o.parts + 1
	if last && part == 1 {
		part = 0
	}
	o.parts++
	for d := range g.due(last) {
		if err := o.add(g, d, part); err != nil {
			return err
		}
		g.forgetURLs(d)
	}
	g.overlong, g.ripe = false, nil
	if g.crowded() {
		g.forgetDomains()
	}
	if last && o.batch.Len() > 0 {
		if err := o.send(); err != nil {
			return err
		}
	}
	return o.failed()
}

// add adds the message of a group to the batch. It stores the URLs if they are too many for a message.
func (o *outbox) add(g *groups, d *group, part int) error {
	d.seal(g.country)
	fits := false
	if g.inlineSize(d) <= maxInline {
		o.compose(g, d, part, "")
		fits = contract.Fits(len(o.message))
	}
	if !fits {
		list := contract.DomainDir{Partition: o.file.Partition, Domain: d.domain}.URLList(o.file.Name, o.parts)
		if err := o.put(g, d, list); err != nil {
			return err
		}
		o.compose(g, d, part, list)
	}
	if !o.batch.Add(o.message) {
		if err := o.send(); err != nil {
			return err
		}
		o.batch.Add(o.message)
	}
	d.parts++
	o.messages++
	o.urls += int(d.urls)
	return nil
}

const beforeCommon = `,"urls_common":`

// compose writes the message of a group, a contract.DomainMessage as JSON. Its URLs are in the message, or stored
// under the key list.
func (o *outbox) compose(g *groups, d *group, part int, list string) {
	b := append(o.message[:0], `{"domain":"`...)
	b = append(b, d.domain...)
	b = append(b, `","domain_id":`...)
	b = gjson.AppendJSONString(b, d.id)
	b = append(b, `,"domain_url":"`...)
	b = g.appendFirstURL(b, d)
	b = append(b, `","registrable_domain":"`...)
	b = append(b, d.domain...)
	b = append(b, `","authority":`...)
	b = gjson.AppendJSONString(b, d.authority)
	b = append(b, `,"urls":`...)
	if list == "" {
		common := g.common(d)
		b = g.appendURLs(b, d, common != nil)
		if common != nil {
			b = append(append(b, beforeCommon...), common...)
		}
	} else {
		b = append(b, `[],"urls_path":"`...)
		b = append(b, list...)
		b = append(b, `","urls_count":`...)
		b = strconv.AppendInt(b, int64(d.urls), 10)
	}
	if part > 0 {
		b = append(b, `,"part":`...)
		b = strconv.AppendInt(b, int64(part), 10)
	}
	b = append(b, ',')
	o.message = append(b, o.tail...)
}

// seal fixes the description of the domain for all parts of the file.
func (d *group) seal(country string) {
	if d.id == "" {
		source := d.authority
		if source == "" {
			source = "unknown"
		}
		d.id = source + ":" + country + ":" + d.domain
	}
}

// send starts sending the batch, once the URL lists of its messages are stored, and continues with an empty one.
func (o *outbox) send() error {
	o.puts.Wait()
	next := <-o.batches
	if err := o.failed(); err != nil {
		o.batches <- next
		return err
	}
	full := o.batch
	o.batch = next
	o.sends.Go(func() {
		o.fail(o.call(func() error { return o.sender.Send(o.ctx, full) }))
		full.Reset()
		o.batches <- full
	})
	return nil
}

// put stores the URLs of a group as a JSON array, piece by piece. The last step continues while other groups are
// packed.
func (o *outbox) put(g *groups, d *group, key string) error {
	if err := o.failed(); err != nil {
		return err
	}
	upload, err := o.store.Create(o.ctx, key, &r2.PutOptions{ContentType: "application/json"})
	if err != nil {
		return storage(err)
	}
	piece, separator := o.message[:0], byte('[')
	r := g.read(d)
	for range d.urls {
		piece = r.appendJSON(append(piece, separator), false)
		separator = ','
		if len(piece) >= pieceSize {
			if err = o.write(upload, piece); err != nil {
				break
			}
			piece = piece[:0]
		}
	}
	if err == nil {
		err = o.write(upload, append(piece, ']'))
	}
	o.message = piece
	if err != nil {
		return storage(errors.Join(err, upload.Abort()))
	}
	o.uploads <- struct{}{}
	o.puts.Go(func() {
		o.fail(o.call(func() error { _, err := upload.Commit(); return err }))
		<-o.uploads
	})
	return nil
}

// write adds a piece to a list, which might take a call.
func (o *outbox) write(upload r2.Upload, piece []byte) error {
	return o.call(func() error { _, err := upload.Write(piece); return err })
}

// call waits until fewer than callsAtOnce calls are in progress, and makes a call.
func (o *outbox) call(do func() error) error {
	o.calls <- struct{}{}
	defer func() { <-o.calls }()
	return do()
}

// fail records the first failure.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = storage(err)
	}
}

func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// wait waits for all calls and returns the first failure.
func (o *outbox) wait() error {
	o.puts.Wait()
	o.sends.Wait()
	return o.failed()
}
