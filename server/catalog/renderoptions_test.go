package catalog

import (
	"fmt"
	"runtime"
	"testing"

	"skerry.dev/skerry/store/storetest"
)

// What users choose of the words of a body, such as the names of a StatefulSet's Pods, is remembered while an object has
// it, and no longer.
func TestOptionsThatNoObjectHasAreForgotten(t *testing.T) {
	m := newRenderOptions(RenderOptions{})
	options := func(n int) *RenderOptions {
		return m.with(m, variant{Reaches: true, Hosts: fmt.Sprintf("db-{0..%d}", n)})
	}
	kept := options(0)
	for n := range 1000 {
		if o := options(n); o.Hosts != fmt.Sprintf("db-{0..%d}", n) || options(n) != o || (o == kept) != (n == 0) {
			t.Fatalf("%d: %q, %t", n, o.Hosts, o == kept)
		}
	}
	storetest.Eventually(t, "they are forgotten", func() bool {
		runtime.GC()
		n := 0
		m.made.Range(func(any, any) bool { n++; return true })
		return n == 1
	})
	if options(0) != kept {
		t.Error("what an object has is made again")
	}
	runtime.KeepAlive(kept)
}
