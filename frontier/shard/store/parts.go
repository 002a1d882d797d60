package store

// Parts of a host: chunks of its known URLs, then segments.
const (
	partBits     = 12
	parts        = 1 << partBits
	firstSegment = 1 << maxBits
)

// partTable is the table parts: chunks of the known URLs of hosts, and segments of their pages.
type partTable struct {
	tx      *Tx
	rows    map[int64][]byte // empty: there is no such row
	changed map[int64]bool
}

// Load loads the parts with the given keys that are not loaded.
func (c *partTable) Load(keys []int64) error {
	missing := keys[:0:0]
	for _, key := range keys {
		if _, ok := c.rows[key]; !ok {
			c.rows[key] = nil
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return c.read(`SELECT key, data FROM parts WHERE key IN (SELECT value FROM json_each(?1))`, numbers(missing))
}

func (c *partTable) read(sql string, args ...any) error {
	rows, err := c.tx.db.Run(sql, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		c.rows[key] = data
		c.tx.state.loaded += int64(len(data))
	}
	return rows.Err()
}

// loaded reports whether a part was loaded, or is known to be missing.
func (c *partTable) loaded(key int64) bool {
	_, ok := c.rows[key]
	return ok
}

// get loads a part, and returns it.
func (c *partTable) get(key int64) ([]byte, error) {
	err := c.Load([]int64{key})
	return c.rows[key], err
}

// set replaces a part at the end of the transaction; without data it is deleted.
func (c *partTable) set(key int64, data []byte) {
	c.rows[key] = data
	c.changed[key] = true
}
