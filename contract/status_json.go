package contract

import (
	"maps"
	"slices"
	"strconv"
)

// AppendJSON appends the output of Encode, with empty lists and maps instead of null. Members of every answer are
// written without reflection, which takes several times as long.
func (s Status) AppendJSON(b []byte) []byte {
	b = s.Stats.append(append(slices.Grow(b, 4096), '{'))
	b = appendInt(b, `,"dead_letters":{"stored":`, s.DeadLetters.Stored)
	b = appendInt(b, `,"replayed":`, s.DeadLetters.Replayed)
	b = appendInt(b, `,"discarded":`, s.DeadLetters.Discarded)
	b = append(b, `},"alarms":[`...)
	for i := range s.Alarms {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.Alarms[i].append(b)
	}
	b = strconv.AppendBool(append(b, `],"alarm_webhook":{"enabled":`...), s.Webhook.Enabled)
	b = strconv.AppendBool(append(b, `,"signed":`...), s.Webhook.Signed)
	b = s.Webhook.Refused.append(append(b, `,"refused":`...))
	b = append(b, `},"queues":{`...)
	for i, role := range slices.Sorted(maps.Keys(s.Queues)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.Queues[role].append(append(AppendText(b, role), ':'))
	}
	b = strconv.AppendBool(append(b, `},"paused":`...), s.Paused)
	b = s.UpdatedAt.Append(append(b, `,"updated_at":`...))
	if len(s.Partitions) > 0 {
		b = append(append(b, `,"partitions":`...), Encode(s.Partitions)...)
	}
	if len(s.Errors) > 0 {
		b = append(append(b, `,"errors":`...), Encode(s.Errors)...)
	}
	if len(s.Rejections) > 0 {
		b = append(append(b, `,"rejections":`...), Encode(s.Rejections)...)
	} else {
		b = append(b, `,"rejections":[]`...)
	}
	if len(s.Trend) > 0 {
		b = append(append(b, `,"trend":`...), Encode(s.Trend)...)
	}
	return append(b, '}')
}

// append appends the members.
func (s *Stats) append(b []byte) []byte {
	p, c := &s.Processing, &s.Collection
	b = appendInt(b, `"processing_stats":{"files_total":`, p.FilesTotal)
	b = appendInt(b, `,"files_processed":`, p.FilesProcessed)
	b = appendInt(b, `,"files_failed":`, p.FilesFailed)
	b = appendInt(b, `,"files_pending":`, p.FilesPending)
	b = appendInt(b, `,"domains_total":`, p.DomainsTotal)
	b = appendInt(b, `,"domains_processed":`, p.DomainsProcessed)
	b = appendInt(b, `,"domains_failed":`, p.DomainsFailed)
	b = appendInt(b, `,"domains_pending":`, p.DomainsPending)
	b = appendInt(b, `},"collection_stats":{"robots_txt_found":`, c.RobotsFound)
	b = AppendFloat(append(b, `,"robots_txt_rate":`...), c.RobotsRate)
	b = appendInt(b, `,"sitemap_xml_found":`, c.SitemapFound)
	b = AppendFloat(append(b, `,"sitemap_xml_rate":`...), c.SitemapRate)
	b = appendInt(b, `,"avg_processing_time_ms":`, c.AvgProcessingMS)
	b = appendInt(b, `},"domains_excluded":`, s.Excluded)
	b = appendInt(b, `,"domains_barred":{"forbidden":`, s.Barred.Forbidden)
	b = appendInt(b, `,"refuses":`, s.Barred.Refuses)
	b = appendInt(b, `,"nothing":`, s.Barred.Empty)
	b = appendInt(b, `},"files_discarded":`, s.Discarded)
	b = appendInt(b, `,"records_total":`, s.Records)
	b = appendInt(b, `,"records_rejected":`, s.RecordsRejected)
	return appendInt(b, `,"avg_file_time_ms":`, s.AvgFileMS)
}

func (s *AlarmState) append(b []byte) []byte {
	b = AppendText(append(b, `{"name":`...), s.Name)
	b = AppendText(append(b, `,"state":`...), s.State)
	b = append(b, `,"value":`...)
	if s.Value == nil {
		b = append(b, "null"...)
	} else {
		b = AppendFloat(b, *s.Value)
	}
	b = AppendFloat(append(b, `,"threshold":`...), s.Threshold)
	b = AppendText(append(b, `,"unit":`...), s.Unit)
	b = append(b, `,"window_minutes":`...)
	if s.Window == nil {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, int64(*s.Window), 10)
	}
	return append(s.Since.appendOrNull(append(b, `,"since":`...)), '}')
}

func (r *AlarmsRefused) append(b []byte) []byte {
	if r == nil {
		return append(b, "null"...)
	}
	b = r.Since.Append(append(b, `{"since":`...))
	b = appendInt(b, `,"attempts":`, r.Attempts)
	b = appendInt(b, `,"waiting":`, r.Waiting)
	return append(AppendText(append(b, `,"error":`...), r.Error), '}')
}

func (q *Backlog) append(b []byte) []byte {
	if q == nil {
		return append(b, "null"...)
	}
	b = appendInt(append(b, '{'), `"messages":`, q.Messages)
	b = appendInt(b, `,"bytes":`, q.Bytes)
	return append(q.Oldest.appendOrNull(append(b, `,"oldest":`...)), '}')
}

func (t *Time) appendOrNull(b []byte) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	return t.Append(b)
}

// appendInt appends before and a number.
func appendInt(b []byte, before string, n int64) []byte {
	return strconv.AppendInt(append(b, before...), n, 10)
}
