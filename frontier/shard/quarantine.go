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

// restoreQuarantinedHost restores a host that has got nothing since.
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

// restorePages puts the pages of a segment back that their host does not have.
func restorePages(c *call, row *store.QuarantinedRow) (bool, error) {
	h, pages, err := row.Pages()
	if err != nil || h == nil {
		return false, err
	}
	have, err := h.Pages()
	if err != nil {
		return false, err
	}
	known := map[string]bool{}
	for i := range have {
		known[have[i].Path] = true
	}
	h.Change()
	for _, p := range pages {
		if known[p.Path] {
			continue
		}
		h.Enqueue(p)
		h.URLs++
		c.tx.State().URLs++
	}
	return true, c.queue(h)
}
