package contract

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"
)

// MaxRejections caps the rejected records listed for a raw file or in a status.
const MaxRejections = 10

// Rejection is a rejected record of a raw file.
type Rejection struct {
	Record int    `json:"record"` // its number in the file, from 1
	Offset int64  `json:"offset"` // of its first byte
	Reason string `json:"reason"`
}

// FileStanding is the reason why a raw file without a checkpoint need not be queued.
type FileStanding struct {
	InFlight bool      // it was queued a short while ago
	BrokenAt time.Time // when it was found malformed; zero if not
}

// Broken reports whether the file has been malformed since it was uploaded. Both times are in whole milliseconds.
func (s FileStanding) Broken(uploaded time.Time) bool {
	return !s.BrokenAt.IsZero() && !s.BrokenAt.Before(uploaded.Truncate(time.Millisecond))
}

// FileRejection is a Rejection with its file.
type FileRejection struct {
	Partition Partition `json:"partition_info"`
	Chunk     string    `json:"chunk"` // raw_NNNN
	Rejection
}

// RecordCounts counts the records of a processed raw file. The metadata of its checkpoint repeats them, so that a
// listing is enough to show them.
type RecordCounts struct {
	Total    int64
	Rejected int64
	First    []Rejection // at most MaxRejections
}

// Names of the custom metadata of the checkpoint of a raw file.
const (
	totalField      = "total_records"
	rejectedField   = "rejected_records"
	rejectionsField = "rejections"
	// RawETagField is the ETag of the processed content; the file might have been replaced since.
	RawETagField = "raw_etag"
)

// AddTo adds the counts to the metadata of a checkpoint.
func (c RecordCounts) AddTo(metadata map[string]string) {
	metadata[totalField] = strconv.FormatInt(c.Total, 10)
	metadata[rejectedField] = strconv.FormatInt(c.Rejected, 10)
	if len(c.First) > 0 {
		metadata[rejectionsField] = string(Encode(c.First))
	}
}

// RecordCountsOf reads the output of AddTo. Checkpoints of earlier versions have zero counts.
func RecordCountsOf(metadata map[string]string) (c RecordCounts) {
	if metadata[totalField] == "" {
		return c
	}
	c.Total, _ = strconv.ParseInt(metadata[totalField], 10, 64)
	c.Rejected, _ = strconv.ParseInt(metadata[rejectedField], 10, 64)
	c.First = ParseRejections(metadata[rejectionsField])
	return c
}

// ParseRejections parses a JSON array of rejections. It returns nil for anything else.
func ParseRejections(text string) (list []Rejection) {
	if json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// DiscardMetadata returns the metadata of a RawFile.DiscardMark. by is the name of the token.
func DiscardMetadata(by string) map[string]string { return map[string]string{"discarded_by": by} }

// CheckpointOf returns the bytes of the checkpoint of a raw file with the ETag: the ETag itself. So a listing, which
// has no metadata, shows which content was processed (see ListedAs).
func CheckpointOf(etag string) []byte { return []byte(etag) }

// ListedAs reports whether a checkpoint with this ETag in a listing belongs to the raw file with the ETag raw. R2's
// ETag of an object stored whole is its MD5 (developers.cloudflare.com/r2/objects/multipart-objects/#etags).
func ListedAs(raw, checkpoint string) bool {
	sum := md5.Sum(CheckpointOf(raw))
	return hex.EncodeToString(sum[:]) == checkpoint
}

// ProcessedAs reports whether a raw file's checkpoint with this metadata belongs to the content with the ETag.
func ProcessedAs(etag string, checkpoint map[string]string) bool {
	processed := checkpoint[RawETagField] // absent in checkpoints of earlier versions
	return etag == "" || processed == "" || etag == processed
}
