package store

// Mirror is a digest and the domain that showed it first.
type Mirror struct {
	Digest string // its first digestBytes bytes
	Day    int64  // since 1970, when that domain was last seen with it
	Domain string
}

// Mirrors returns the digests that are kept in the same row as a digest; see Digest.
func (c *Tx) Mirrors(digest string) ([]Mirror, error) {
	key := mirrorKey(digest)
	rows, err := c.db.Run(`SELECT data FROM mirrors WHERE key = ?1`, key)
	if err != nil || !rows.Next() {
		return nil, err
	}
	data := rows.Blob()
	list, err := decodeMirrors(data)
	if err != nil {
		c.quarantine.add(damagedRow{table: "mirrors", key: key, reason: err.Error(), data: data})
		return nil, c.writeData("mirrors", map[int64][]byte{key: nil})
	}
	return list, nil
}

// SaveMirrors replaces the digests that are kept in the same row as a digest.
func (c *Tx) SaveMirrors(digest string, list []Mirror) error {
	return c.writeData("mirrors", map[int64][]byte{mirrorKey(digest): appendMirrors(list)})
}

// mirrorKey returns the key of a digest's row: its first 16 bits.
func mirrorKey(digest string) int64 { return int64(digest[0])<<8 | int64(digest[1]) }

func appendMirrors(list []Mirror) (b []byte) {
	for _, m := range list {
		b = appendString(appendUint(append(b, m.Digest...), m.Day), m.Domain)
	}
	return b
}

func decodeMirrors(data []byte) (list []Mirror, err error) {
	d := decode(data)
	for d.at < len(d.text) {
		if len(d.text)-d.at < digestBytes {
			return nil, ErrDamaged
		}
		m := Mirror{Digest: d.text[d.at : d.at+digestBytes]}
		d.at += digestBytes
		m.Day, m.Domain = d.int(), d.string()
		list = append(list, m)
	}
	return list, d.err
}
