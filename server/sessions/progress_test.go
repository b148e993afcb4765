package sessions

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// A status says how much of what is placed is applied and what is refused, soon after the reports
// say so, and is not written again while they say the same.
func TestProgressIsInTheStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI()
		server, _, stop := standingDoor(t, api, api, "paris")
		defer stop()
		var counted atomic.Pointer[progress]
		counted.Store(&progress{tally: placement.Tally{Applied: 7}})
		center := server.cfg.Summary.(*stub)
		center.tally = func() placement.Tally { return counted.Load().tally }
		center.moves = func() []placement.Moving { return counted.Load().moves }
		go server.count(t.Context())
		time.Sleep(welcomeBack + time.Minute)
		k := store.Key{Space: "shop", Resource: "configmaps", Namespace: "web", Name: "one"}
		next := &progress{
			tally: placement.Tally{
				Applied: 7,
				Refused: 2,
				First:   []placement.Refused{{Key: k, Reason: "Forbidden", Message: "not allowed here"}},
			},
		}
		for range 12 {
			next.moves = append(
				next.moves,
				placement.Moving{
					Key:     k,
					From:    []string{"paris"},
					To:      []string{"rome"},
					Phase:   placement.Waiting,
					Message: "rome is not ready",
				},
			)
		}
		counted.Store(next)
		server.Recount("paris")
		time.Sleep(countSettle + settle + 2*glance)
		is := api.status(t, "paris")
		if is.Applied != 7 || is.Refused != 2 || len(is.Refusals) != 1 || is.Refusals[0].Object != k.String() ||
			is.Refusals[0].Reason != "Forbidden" {
			t.Errorf("status %+v", is)
		}
		if len(is.Moves) != maxNamed || int(is.MovesTotal) != len(next.moves) || is.Moves[0].Message != "rome is not ready" || is.Moves[0].Since != nil {
			t.Errorf("moves %+v", is.Moves)
		}
		writes, _ := api.count()
		for range 20 {
			server.Recount("paris")
			time.Sleep(time.Second)
		}
		if now, _ := api.count(); now-writes > 1 { // a heartbeat
			t.Errorf("%d writes while nothing changed", now-writes)
		}
	})
}

// Each change of many targets costs at most so many writes a second.
func TestProgressIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 60
		api := newFakeAPI()
		server, _, stop := standingDoor(t, api, api, sites(n)...)
		defer stop()
		var applied atomic.Int64
		server.cfg.Summary.(*stub).tally = func() placement.Tally { return placement.Tally{Applied: int(applied.Load())} }
		go server.count(t.Context())
		time.Sleep(welcomeBack + 10*glance)
		before, _ := api.count()
		for range 10 {
			applied.Add(1)
			for i := range n {
				server.Recount(fmt.Sprintf("site-%d", i))
			}
			time.Sleep(2 * time.Second)
		}
		if now, _ := api.count(); now-before > 20*(steps+1)+n || now == before {
			t.Errorf("%d writes in 20 s in which all of %d targets advanced 10 times", now-before, n)
		}
		time.Sleep(2 * time.Minute)
		for i := range n {
			if is := api.status(t, fmt.Sprintf("site-%d", i)); is.Applied != 10 {
				t.Errorf("site-%d has applied %d", i, is.Applied)
			}
		}
	})
}
