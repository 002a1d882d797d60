package store

import (
	"fmt"
	"strings"
)

// hostOrders are the columns by which hosts are listed; ids break ties. They have no index: a page reads
// the whole table, which costs a thousandth of an index's writes.
var hostOrders = map[string]string{"": "id", "due": "due", "size": "-urls"}

// IsHostOrder reports whether hosts can be listed in an order: by name of the order, "" for none.
func IsHostOrder(name string) bool { return hostOrders[name] != "" }

// HostQuery selects hosts.
type HostQuery struct {
	Order   string // see IsHostOrder
	Blocked bool   // only those that are blocked now
	After   HostPosition
	Limit   int
}

// HostPosition is the position of a host in an order.
type HostPosition struct{ Value, ID int64 }

// FirstPosition is before all hosts.
var FirstPosition = HostPosition{-1 << 52, -1}

// ListHosts returns hosts and their positions.
func (c *Tx) ListHosts(q HostQuery) ([]*Host, []HostPosition, error) {
	order := hostOrders[q.Order]
	where := "(" + order + ", id) > (?1, ?2)"
	if q.Blocked {
		where += fmt.Sprintf(" AND blocked > %d", c.now)
	}
	if q.Order == "due" {
		where += " AND due > 0"
		if leased := c.state.journal.hosts(); len(leased) > 0 { // their columns are older
			where += " AND id NOT IN (" + strings.Trim(numbers(leased), "[]") + ")"
		}
	}
	sql := "SELECT " + order + ", id FROM hosts WHERE " + where + " ORDER BY " + order + ", id LIMIT ?3"
	rows, err := c.db.Run(sql, q.After.Value, q.After.ID, int64(q.Limit))
	if err != nil {
		return nil, nil, err
	}
	var ids []int64
	var positions []HostPosition
	for rows.Next() {
		p := HostPosition{rows.Int(), rows.Int()}
		ids, positions = append(ids, p.ID), append(positions, p)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, err
	}
	hosts, err := c.Hosts(ids)
	return hosts, positions, err
}

// LargestHosts returns the ids of the domain's hosts that have pages, of those with the most first.
func (m *Domain) LargestHosts(limit int64) ([]int64, error) {
	rows, err := m.tx.db.Run(`SELECT id FROM hosts WHERE id IN (SELECT value FROM json_each(?1)) AND urls > 0
ORDER BY urls DESC, id LIMIT ?2`, numbers(m.Hosts), limit)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for rows.Next() {
		ids = append(ids, rows.Int())
	}
	return ids, rows.Err()
}

// CountPages finds out how many pages the hosts of domains have that are not loaded, for Domain.Pages.
func (c *Tx) CountPages(domains []*Domain) error {
	var ids []int64
	for _, m := range domains {
		m.elsewhere, m.pagesElsewhere = map[int64]bool{}, 0
		for _, id := range m.Hosts {
			if c.hosts[id] == nil {
				m.elsewhere[id] = true
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	const count = `SELECT domain, sum(urls) FROM hosts WHERE id IN (SELECT value FROM json_each(?1)) GROUP BY domain`
	rows, err := c.db.Run(count, numbers(ids))
	if err != nil {
		return err
	}
	for rows.Next() {
		id, n := rows.Int(), rows.Int()
		if m := c.domains[id]; m != nil {
			m.pagesElsewhere = n
		}
	}
	return rows.Err()
}

// Pages returns how many pages the domain has that are not done; CountPages must have been called.
func (m *Domain) Pages() int64 {
	n := m.pagesElsewhere
	for _, id := range m.Hosts {
		if !m.elsewhere[id] {
			n += m.tx.hosts[id].URLs
		}
	}
	return n
}
