package processor

import (
	"fmt"
	"testing"
	"unsafe"
)

// TestHosts_Memory: hosts without a domain, of which a file may have many, take no more memory than they count for, and
// none between files.
func TestHosts_Memory(t *testing.T) {
	var g groups
	g.start("sg")
	for i := 0; !g.full(); i++ {
		host := fmt.Appendf(nil, "10.%d.%d.%d", i>>16, i>>8&255, i&255)
		n := g.lookUp(host)
		g.byAuthority.add(g.byAuthority.hash(host), n)
	}
	if size := len(g.byAuthority.slots) * int(unsafe.Sizeof(hostSlot{})); size > g.tables {
		t.Errorf("%d hosts take %d bytes, and count for %d", g.byAuthority.count, size, g.tables)
	}
	g.release()
	if n := len(g.byAuthority.slots); n > keptHosts {
		t.Errorf("%d slots are kept", n)
	}
}
