package engine

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/settings"
)

// Inspector runs steps 2 and 3 for single URLs, without a Worker, stores and queues. All fields are required.
type Inspector struct {
	Transport fetch.Transport
	Frontier  client.Caller
	Clock     fetch.Clock
	Model     func(context.Context) (*classify.Model, error)
	Variable  func(name string) (value string, ok bool) // see settings.Read
	Log       *slog.Logger
}

// Inspect collects the registrable domain of a URL as politely as the Worker does, and returns its contract, even if
// the domain does not answer. A URL that no raw file could contain is an error of kind Validation.
func (i *Inspector) Inspect(ctx context.Context, link string) (*contract.Document, error) {
	s, err := settings.Read(i.Variable)
	if err != nil {
		return nil, err
	}
	bucket := r2.NewMemory()
	m, err := i.message(ctx, bucket, link)
	if err != nil {
		return nil, err
	}
	c := collector.Collector{
		Bucket: bucket, Transport: i.Transport, Frontier: client.Frontier{Caller: i.Frontier, Shards: 1},
		Clock: i.Clock, Model: i.Model,
		UserAgent: s.UserAgent, Limits: limits(s), Log: i.Log,
	}
	return c.NewBatch(func(string) bool { return false }).Visit(m.Domain).Collect(ctx, m, true)
}

// message returns the message that step 2 sends for a raw file with one URL.
func (i *Inspector) message(ctx context.Context, bucket *r2.Memory, link string) (*contract.DomainMessage, error) {
	file := contract.RawFile{
		Partition: contract.Partition{Country: "zz", Category: "inspect",
			Date: i.Clock.Now().UTC().Format("2006-01-02")},
		Name: "raw_0001",
	}
	records, err := json.Marshal([]map[string]string{{"url": link}})
	if err != nil {
		return nil, err
	}
	if _, err := bucket.Put(ctx, file.Key(), records, nil); err != nil {
		return nil, err
	}
	var sent keeper
	p := processor.Processor{Store: bucket, Log: i.Log, Version: contract.Version}
	if _, err := p.Process(ctx, &contract.SeedMessage{FilePath: file.Key(), Partition: file.Partition},
		&sent); err != nil {
		return nil, err
	}
	if sent.message == nil {
		return nil, contract.Invalid("url",
			"%.200q has no registrable domain; send an http or https URL such as \"https://www.example.com/\"", link)
	}
	return contract.ParseDomain(sent.message)
}

// keeper is a queue that keeps the last message.
type keeper struct{ message []byte }

// Send implements processor.Sender.
func (k *keeper) Send(_ context.Context, b *contract.Batch) error {
	for m := range b.Messages() {
		k.message = append([]byte(nil), m...)
	}
	return nil
}
