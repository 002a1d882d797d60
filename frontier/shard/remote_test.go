package shard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
)

// answers is a shard that gives one answer to everything.
type answers struct {
	answer string
	err    error

	shard, operation, request string
}

func (a *answers) Call(_ context.Context, shard, operation string, request []byte) ([]byte, error) {
	a.shard, a.operation, a.request = shard, operation, string(request)
	return []byte(a.answer), a.err
}

// TestRemote_Errors: what a shard says keeps its kind, and what it cannot answer may be fetched from again.
func TestRemote_Errors(t *testing.T) {
	lost := errors.New("the connection is lost")
	for _, c := range []struct {
		answers
		kind    contract.Kind
		is      error
		field   string
		message string
	}{
		{answers{answer: `{"error":{"code":"validation_error","field":"domain","message":"send another","later":1}}`},
			contract.Validation, nil, "domain", "send another"},
		{answers{answer: `{"error":{"code":"internal_error","message":"m"}}`}, contract.Internal, nil, "", "m"},
		{answers{answer: `{"error":{"code":"of a later version","message":"m"}}`}, contract.Storage, nil, "", "m"},
		{answers{answer: `{"error":{"code":"unknown_operation","message":"m"}}`}, contract.Storage,
			frontier.ErrUnknownOperation, "", ""},
		{answers{answer: `{"error":{"code":"newer_version","message":"m"}}`}, contract.Storage, frontier.ErrNewer, "",
			""},
		{answers{answer: `{}`}, contract.Storage, nil, "", "not one of a shard"},
		{answers{answer: `{"answer":7}`}, contract.Storage, nil, "", ""},
		{answers{answer: `<html>`}, contract.Storage, nil, "", ""},
		{answers{err: lost}, contract.Storage, lost, "", ""},
		{answers{err: contract.Wrap(contract.Timeout, "test", lost)}, contract.Timeout, lost, "", ""},
	} {
		_, err := client.Frontier{Caller: &c.answers, Shards: 1}.Shard(0).Stats(t.Context())
		var e *contract.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Field != c.field || c.is != nil && !errors.Is(err, c.is) ||
			!strings.Contains(err.Error(), c.message) {
			t.Errorf("%+v: %#v", c.answers, err)
		}
	}
}

// TestRemote_Addresses: a domain is always asked for at the same shard, by a name that must not change.
func TestRemote_Addresses(t *testing.T) {
	a := &answers{answer: `{"answer":true,"later":{}}`}
	kept, err := client.Frontier{Caller: a, Shards: 16}.Of("newsfork.com").Renew(t.Context(), "newsfork.com", "me", 60)
	if err != nil || !kept {
		t.Fatal(kept, err)
	}
	if a.shard != "shard-10" || a.operation != "renew" ||
		strings.TrimSpace(a.request) != `{"Domain":"newsfork.com","Owner":"me","Seconds":60}` {
		t.Errorf("%+v", a)
	}
}

// TestServe_Newer: a shard that a later version has migrated says so, and is left alone.
func TestServe_Newer(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 1))
	w.do(func() error {
		_, err := w.db.Run(`UPDATE state SET data = ?1 WHERE key = 0`, []byte{99, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		return err
	})
	var answer []byte
	ok := true
	w.do(func() error {
		a := w.shard.Serve(w.now, "stats", []byte("{}"))
		answer, ok = a.Text, a.OK
		return nil
	})
	_, err := client.Frontier{Caller: &answers{answer: string(answer)}, Shards: 1}.Shard(0).Stats(t.Context())
	if ok || !errors.Is(err, frontier.ErrNewer) {
		t.Errorf("%s: %v", answer, err)
	}
}
