package shard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// seal proves that the shard gave a lease and its items: numbers of leases, ids of hosts and hashes of URLs can be
// guessed, and whoever reports a lease can take pages out of the frontier, slow hosts down and put URLs.
type seal [sha256.Size]byte

// sealOf returns the seal of the lease with a number. The shard's secret is made with its first lease.
func (c *call) sealOf(number int64) (s seal) {
	state := c.tx.State()
	if len(state.Secret) == 0 {
		state.Unsealed, state.Secret = state.Lease, make([]byte, sha256.Size)
		rand.Read(state.Secret) // never fails (crypto/rand)
	}
	mac := hmac.New(sha256.New, state.Secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(number)))
	mac.Sum(s[:0])
	return s
}

// Bytes of a seal in public ids: 80 bits for a lease, and 40 for an item, whose id is only valid with its lease's.
const (
	leaseSeal = 10
	itemSeal  = 5
)

var sealText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// leaseID returns the public id of a lease.
func (s *seal) leaseID(number int64) string {
	return strconv.FormatInt(number, 36) + "-" + sealText.EncodeToString(s[:leaseSeal])
}

// itemID returns the public id of an item of the lease.
func (s *seal) itemID(host int64, hash uint64) string {
	var data [sha256.Size + 16]byte // one block
	copy(data[:], s[:])
	binary.BigEndian.PutUint64(data[sha256.Size:], uint64(host))
	binary.BigEndian.PutUint64(data[sha256.Size+8:], hash)
	sum := sha256.Sum256(data[:])
	return fmt.Sprintf("%010x-%012x-%s", host, hash, sealText.EncodeToString(sum[:itemSeal]))
}

// openLease returns the number and the seal of a lease; ok is false unless the shard issued the id. Leases of the
// version before seals have none, and are accepted until they end.
func (c *call) openLease(id string) (number int64, s seal, ok bool) {
	digits, _, sealed := strings.Cut(id, "-")
	number, err := strconv.ParseInt(digits, 36, 64)
	state := c.tx.State()
	if err != nil || number < 1 || number > state.Lease {
		return -1, s, false
	}
	if !sealed {
		return number, s, len(state.Secret) == 0 || number <= state.Unsealed
	}
	if len(state.Secret) == 0 {
		return -1, s, false
	}
	s = c.sealOf(number)
	return number, s, hmac.Equal([]byte(id), []byte(s.leaseID(number)))
}

// openItem returns the host and the hash of the URL of an item; ok is false unless the id belongs to the lease.
func (s *seal) openItem(id string) (host int64, hash uint64, ok bool) {
	left, rest, _ := strings.Cut(id, "-")
	right, _, sealed := strings.Cut(rest, "-")
	if len(left) != 10 || len(right) != 12 {
		return 0, 0, false
	}
	h, err1 := strconv.ParseUint(left, 16, 40)
	hash, err2 := strconv.ParseUint(right, 16, 48)
	ok = !sealed && s.none() || hmac.Equal([]byte(id), []byte(s.itemID(int64(h), hash)))
	return int64(h), hash, ok && err1 == nil && err2 == nil
}

// none reports whether the lease has no seal.
func (s *seal) none() bool { return *s == seal{} }
