package delta

import (
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
)

// What was sent last of a key comes back as it was, whether it is kept as it is or compressed, and
// the bound holds.
func TestBases(t *testing.T) {
	const limit = 4 << 10
	b := newBases(compress.Default(), limit)
	key := func(i int) store.Key { return store.Key{Space: "s", Resource: "configmaps", Name: fmt.Sprint(i)} }
	body := func(i int) string { return strings.Repeat(fmt.Sprint(i, " "), 100) }
	plain, packed, kept := 0, 0, 0
	for i := range 1000 {
		b.put(key(i), []byte(body(i)))
		if got := string(b.get(key(i))); got != body(i) && got != "" {
			t.Fatalf("%q, want %q", got, body(i))
		}
		if b.bytes > limit {
			t.Fatalf("%d bytes are kept, at most %d", b.bytes, limit)
		}
	}
	for i := range 1000 {
		last, ok := b.sent.Find(key(i))
		if !ok {
			continue
		}
		if kept += len(last.bytes); last.packed {
			packed++
		} else {
			plain++
		}
		if got := string(b.get(key(i))); got != body(i) {
			t.Fatalf("%q, want %q", got, body(i))
		}
	}
	if plain+packed < 20 || packed == 0 || kept != b.bytes {
		t.Errorf("%d plain and %d compressed bodies of %d bytes are kept, %d are counted", plain, packed, kept, b.bytes)
	}
	b.put(key(2000), []byte(body(2000)))
	if b.put(key(2000), nil); b.get(key(2000)) != nil {
		t.Error("what is gone is kept")
	}
}
