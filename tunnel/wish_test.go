package tunnel_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// A child hears what its parent wishes with the welcome, also when that is nothing, and at each change.
func TestWishesAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		use := tunnel.NewLinkUse(tunnel.Link{})
		var mu sync.Mutex
		var heard []string
		hear := func(w tunnel.Wish) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, w.AgentVersion)
		}
		session := func(change func()) {
			go func() {
				time.Sleep(time.Second)
				change()
			}()
			reported := store.NewFeed(store.NewIncarnation(), 0, nil)
			both(pipe.Options{}, tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: reported, OnWish: hear},
				tunnel.ParentConfig{Use: use, Admitter: tunneltest.Parent{Feed: feedOf(1), Inbox: storetest.NewMemory()}})
		}
		session(func() {
			use.SetWish(tunnel.Wish{AgentVersion: "1.4.0"})
			use.SetWish(tunnel.Wish{AgentVersion: "1.4.0"})
		})
		session(func() { use.SetWish(tunnel.Wish{}) })
		session(func() {})
		if want := []string{"", "1.4.0", "1.4.0", "", ""}; !slices.Equal(heard, want) {
			t.Errorf("it heard %q, want %q", heard, want)
		}
	})
}
