package shard

import (
	"errors"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Quarantine lists damaged rows, oldest first.
func (s *Shard) Quarantine(now epoch.Millis, r frontier.QuarantineRequest) (page frontier.QuarantinePage, err error) {
	if err := frontier.CheckRange("limit", r.Limit, 1, 500); err != nil {
		return page, err
	}
	err = s.run(now, func(c *call) error {
		rows, err := c.tx.Quarantined(r.After, int64(r.Limit))
		for _, row := range rows {
			page.Rows = append(page.Rows, frontier.QuarantinedRow{ID: row.ID, At: row.At, Table: row.Table,
				Key: row.Key, Name: row.Name, Reason: row.Reason, Bytes: row.Bytes})
		}
		if len(rows) == r.Limit {
			page.Next = rows[len(rows)-1].ID
		}
		return err
	})
	return page, err
}

// DropRow deletes a damaged row, and reports whether there is one.
func (s *Shard) DropRow(now epoch.Millis, r frontier.QuarantinedID) (found bool, err error) {
	err = s.run(now, func(c *call) error {
		row, err := c.tx.QuarantinedRow(r.ID)
		if err != nil || row == nil {
			return err
		}
		found = true
		return row.Drop()
	})
	return found, err
}

// RestoreRow puts a quarantined row back that this version can read, and reports whether there is one.
func (s *Shard) RestoreRow(now epoch.Millis, r frontier.QuarantinedID) (found bool, err error) {
	err = s.run(now, func(c *call) error {
		row, err := c.tx.QuarantinedRow(r.ID)
		if err != nil || row == nil {
			return err
		}
		found = true
		switch err := restoreRow(c, row); {
		case errors.Is(err, store.ErrDamaged):
			return contract.Invalid("id", "row %d of %s is damaged for this version too; drop it", row.ID, row.Table)
		case err != nil:
			return err
		}
		return row.Drop()
	})
	return found, err
}

func restoreRow(c *call, row *store.QuarantinedRow) error {
	var restored bool
	var err error
	switch row.Table {
	case store.DamagedHost:
		restored, err = restoreQuarantinedHost(c, row)
	case store.DamagedPages:
		restored, err = restorePages(c, row)
	default:
		restored, err = row.Restore()
	}
	if err == nil && !restored {
		return contract.Invalid("id", "row %d of %s cannot be restored, since something took its place; drop it",
			row.ID, row.Table)
	}
	return err
}

// restoreQuarantinedHost restores a host that has no pages or entry points yet.
func restoreQuarantinedHost(c *call, row *store.QuarantinedRow) (bool, error) {
	hosts, err := c.tx.Hosts([]int64{row.Key})
	if err != nil || hosts[0] == nil {
		return false, err
	}
	record, parts, err := row.Host()
	if err != nil {
		return false, err
	}
	host := frontier.HostSnapshot{Host: row.Name, Domain: hosts[0].Domain.Name, Record: record, Parts: parts}
	return restoreHost(c, &host, c.tx.State().Classes)
}

// restorePages puts pages of a damaged segment back, in the queue or on schedule as they were. Those that were put or
// fetched since stay as they are.
func restorePages(c *call, row *store.QuarantinedRow) (bool, error) {
	h, pages, err := row.Pages()
	if err != nil || h == nil {
		return false, err
	}
	urls := make([]store.URLKey, len(pages))
	for i := range pages {
		urls[i] = store.URLKey{Host: h.ID, Hash: store.Hash48(pages[i].Path)}
	}
	if err := c.tx.LoadKnown(urls); err != nil {
		return false, err
	}
	h.Change()
	for i := range pages {
		if err := restorePage(c, h, &pages[i], urls[i].Hash); err != nil {
			return false, err
		}
	}
	return true, c.queue(h)
}

func restorePage(c *call, h *store.Host, p *store.Page, hash uint64) error {
	known, ok := h.Known(hash)
	switch {
	case h.LeasedPage(hash) >= 0:
	case p.Reason == store.Scheduled && known.Life == store.Fetched:
		if _, scheduled, err := h.Schedule.Find(hash); scheduled || err != nil {
			return err
		}
		h.ScheduleVisit(*p)
	case p.Reason != store.Scheduled && known.Life == store.Idle:
		if !ok {
			known = store.Known{Foreign: p.Foreign, At: c.hour()}
		}
		known.Life = store.Waiting
		h.Enqueue(*p)
		h.URLs++
		c.tx.State().URLs++
		return h.Remember(hash, known)
	}
	return nil
}
