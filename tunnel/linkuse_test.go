package tunnel_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// A child keeps to what its parent says of the link, from the first report on, and says what waits.
func TestChildKeepsToTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := func(context.Context, store.Key) ([]byte, int64, error) { return []byte("{}"), 1, nil }
		reported := store.NewFeed(store.NewIncarnation(), 0, body)
		tell := func(revision int64, p store.Priority) {
			reported.Apply(
				revision,
				store.Change{Key: store.Key{Space: "s", Resource: "pods", Name: fmt.Sprint("p", revision)},
					Hash: store.HashBody(1, []byte("{}")), Generation: 1, Priority: p},
			)
		}
		tell(1, store.PriorityAssociated)
		tell(2, store.PriorityError)
		use := tunnel.NewLinkUse(tunnel.Link{Class: delta.Metered, Hold: true})
		inbox := storetest.NewMemory()
		var done atomic.Bool
		go func() {
			defer done.Store(true)
			time.Sleep(30 * time.Second)
			if n := len(inbox.Live()); n != 1 {
				t.Errorf("%d reports came while they are held, want the error alone", n)
			}
			if n := use.Waiting(); n <= 0 || n > 1000 {
				t.Errorf("%d bytes wait, of one report", n)
			}
			use.Set(tunnel.Link{Class: delta.WAN})
			time.Sleep(time.Second)
			if n := len(inbox.Live()); n != 2 {
				t.Errorf("%d reports came in the end, want 2", n)
			}
			time.Sleep(25 * time.Second)
			if n := use.Waiting(); n != 0 {
				t.Errorf("%d bytes wait, of nothing", n)
			}
		}()
		both(
			pipe.Options{},
			tunnel.ChildConfig{Desired: storetest.NewMemory(), Reported: reported},
			tunnel.ParentConfig{Use: use, Admitter: tunneltest.Parent{Feed: feedOf(1), Inbox: inbox}},
		)
		synctest.Wait()
		if !done.Load() {
			t.Error("the session ended too early")
		}
	})
}
