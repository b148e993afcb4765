package agent

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// TestNarrowedAtOnce: words of two sessions do not wait for each other. In the end the file, the
// policy and the parent's latest word agree. A word that is not understood changes nothing.
func TestNarrowedAtOnce(t *testing.T) { inBubble(t, narrowedAtOnce) }

func narrowedAtOnce(t *testing.T) {
	s := newSite(t)
	s.stop()
	s.allow = &tunnel.Allow{Kinds: []string{"*"}}
	s.start(s.DataDir)
	agree := func() *tunnel.Narrow {
		t.Helper()
		data, err := s.file.Meta(narrowName)
		if err != nil {
			t.Fatal(err)
		}
		var stored *tunnel.Narrow
		if err := json.Unmarshal(data, &stored); err != nil {
			t.Fatal(err)
		}
		p := s.permission
		if !stored.Equal(p.narrow) || !p.wanted.Equal(p.narrow) || p.applying {
			t.Errorf("stored %+v, obeyed %+v, wanted %+v", stored, p.narrow, p.wanted)
		}
		for _, kind := range stored.DenyKinds {
			if p.Policy().Kind("", kind, false) == nil {
				t.Errorf("%s may still be made here", kind)
			}
		}
		return stored
	}
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() { s.narrowed(&tunnel.Narrow{DenyKinds: []string{fmt.Sprint("widgets", i)}}) })
	}
	calls.Wait()
	if n := agree(); len(n.DenyKinds) != 1 {
		t.Errorf("%+v", n)
	}
	last := &tunnel.Narrow{DenyKinds: []string{"widgets"}}
	s.narrowed(last)
	s.narrowed(&tunnel.Narrow{Kinds: []string{"["}})
	if n := agree(); !n.Equal(last) {
		t.Errorf("obeyed %+v, want %+v", n, last)
	}
}
