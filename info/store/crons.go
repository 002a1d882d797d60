package store

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// cronRecords is the part of a Store about the runs of crons.
type cronRecords struct{ *base }

// Cron is the last run of a cron.
type Cron struct {
	Expression string
	BeganAt    time.Time
	EndedAt    time.Time     // of the last run that ended: before BeganAt if one is under way, or was killed
	ErrorKind  contract.Kind // of the run that ended last; "" if it succeeded
}

// BeginCron records that a cron begins.
func (s *cronRecords) BeginCron(ctx context.Context, expression string, now time.Time) error {
	_, err := s.batch(ctx, "store.BeginCron", s.statement(`INSERT INTO news_crons (cron, began_at)
VALUES (?1, CAST(?2 AS BIGINT)) ON CONFLICT (cron) DO UPDATE SET began_at = excluded.began_at`, expression,
		epoch.MillisOf(now)))
	return err
}

// EndCron records that a cron ended, and the kind of its error or "".
func (s *cronRecords) EndCron(ctx context.Context, expression string, kind contract.Kind, now time.Time) error {
	_, err := s.batch(ctx, "store.EndCron", s.statement(`UPDATE news_crons SET ended_at = CAST(?2 AS BIGINT),
error_kind = ?3 WHERE cron = ?1`, expression, epoch.MillisOf(now), string(kind)))
	return err
}

// Crons returns the last run of each cron that ever ran, by expression.
func (s *cronRecords) Crons(ctx context.Context) ([]Cron, error) {
	const op = "store.Crons"
	results, err := s.batch(ctx, op,
		s.statement(`SELECT cron, began_at, ended_at, error_kind FROM news_crons ORDER BY cron`))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Expression string        `json:"cron"`
		BeganAt    epoch.Millis  `json:"began_at"`
		EndedAt    epoch.Millis  `json:"ended_at"`
		ErrorKind  contract.Kind `json:"error_kind"`
	}](op, results[0])
	var crons []Cron
	for _, r := range rows {
		crons = append(crons, Cron{r.Expression, r.BeganAt.Time(), r.EndedAt.Time(), r.ErrorKind})
	}
	return crons, err
}
