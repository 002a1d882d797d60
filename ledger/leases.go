package ledger

import (
	"context"
	"time"
)

// Release ends the lease of a domain.
type Release struct {
	Domain   string
	Owner    string
	CoolDown time.Duration // how long the domain cannot be leased after that, such as the delay its hosts ask for
}

const (
	acquireLeases = `INSERT INTO leases (domain, owner, expires_at)
SELECT value, ?2, ` + now + ` + ?3 FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
WHERE leases.owner = excluded.owner OR leases.expires_at <= ` + now

	selectBusy = `SELECT domain, max(expires_at - ` + now + `, 0) AS remaining_ms
FROM leases WHERE domain IN (SELECT value FROM json_each(?1)) AND owner <> ?2`

	renewLeases = `UPDATE leases SET expires_at = ` + now + ` + ?3
WHERE domain IN (SELECT value FROM json_each(?1)) AND owner = ?2`

	selectLost = `SELECT value AS domain FROM json_each(?1)
WHERE value NOT IN (SELECT domain FROM leases WHERE domain IN (SELECT value FROM json_each(?1)) AND owner = ?2)`

	releaseLeases = `UPDATE leases SET owner = '', expires_at = ` + now + ` + released.cool_down_ms
FROM (SELECT value->>'domain' AS domain, value->>'owner' AS owner, value->>'cool_down_ms' AS cool_down_ms FROM json_each(?1)) AS released
WHERE leases.domain = released.domain AND leases.owner = released.owner`
)

type releaseRow struct {
	Domain     string `json:"domain"`
	Owner      string `json:"owner"`
	CoolDownMS int64  `json:"cool_down_ms"`
}

func (r Release) row() releaseRow {
	return releaseRow{r.Domain, r.Owner, r.CoolDown.Milliseconds()}
}

// Acquire leases domains to owner for ttl, by the database's clock, unless they are leased to another.
// Those are in busy, with the time that remains of their leases. The owner's own leases are extended.
func (l *Ledger) Acquire(ctx context.Context, owner string, domains []string, ttl time.Duration) (busy map[string]time.Duration, err error) {
	const op = "ledger.Acquire"
	results, err := l.batch(ctx, op,
		statement(acquireLeases, domains, owner, ttl.Milliseconds()),
		statement(selectBusy, domains, owner))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Domain      string `json:"domain"`
		RemainingMS int64  `json:"remaining_ms"`
	}](op, results[1])
	busy = make(map[string]time.Duration, len(rows))
	for _, r := range rows {
		busy[r.Domain] = time.Duration(r.RemainingMS) * time.Millisecond
	}
	return busy, err
}

// Renew extends leases to ttl from now. lost are the domains that are no longer leased to the owner,
// since another took them after they had expired.
func (l *Ledger) Renew(ctx context.Context, owner string, domains []string, ttl time.Duration) (lost []string, err error) {
	const op = "ledger.Renew"
	results, err := l.batch(ctx, op,
		statement(renewLeases, domains, owner, ttl.Milliseconds()),
		statement(selectLost, domains, owner))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Domain string `json:"domain"`
	}](op, results[1])
	for _, r := range rows {
		lost = append(lost, r.Domain)
	}
	return lost, err
}
