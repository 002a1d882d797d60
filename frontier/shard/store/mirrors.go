package store

// Mirror is a digest and the domain that showed it first.
type Mirror struct {
	Digest string // its first digestBytes bytes
	Day    int64  // since 1970, when that domain was last seen with it
	Domain string
}

func (c *Tx) LoadMirrors(key int64) ([]Mirror, error) {
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

func (c *Tx) SaveMirrors(key int64, list []Mirror) error {
	return c.writeData("mirrors", map[int64][]byte{key: appendMirrors(list)})
}

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
			return nil, errDamaged
		}
		m := Mirror{Digest: d.text[d.at : d.at+digestBytes]}
		d.at += digestBytes
		m.Day, m.Domain = d.int(), d.string()
		list = append(list, m)
	}
	return list, d.err
}
