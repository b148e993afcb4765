package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// farRTT is the round trip of each hop of streamsFar.
const farRTT = 100 * time.Millisecond

// farWays are two ways to the cluster, through one relay and through two. Each of their hops crosses
// a link of its own.
type farWays struct {
	links []*link
	stop  []func()
}

func farNS(relays int) string { return fmt.Sprintf("streams-far-%d", relays) }

// streamsFar measures streams through no relay, one and two, where each hop of the tunnel has a
// round trip of 100 ms, beside a cluster that is as far away as one hop.
func (b *bench) streamsFar(ctx context.Context, w *streamWays) error {
	b.say("start three relays and two agents over links")
	far, err := b.startFar(ctx, w)
	defer far.close()
	if err != nil {
		return err
	}
	b.say("measure streams over round trips of 100 ms")
	for _, l := range append(far.links, w.link, w.farLink) {
		l.SetRTT(farRTT)
		defer l.SetRTT(0)
	}
	for relays, ns := range []string{streamsNS(0), farNS(1), farNS(2)} {
		suffix := fmt.Sprintf("-%d-relays-rtt100", relays)
		goal := time.Duration(relays)*farRTT + time.Duration(relays+1)*tierGoal
		if err := b.roundTrips(ctx, w.ours, w.far, ns, suffix, goal, 10); err != nil {
			return err
		}
		if err := b.throughput(ctx, w.ours, w.far, ns, suffix, 1); err != nil {
			return err
		}
	}
	return nil
}

// startFar starts both ways and the Pods at their ends.
func (b *bench) startFar(ctx context.Context, w *streamWays) (*farWays, error) {
	far := &farWays{}
	relay, err := b.farRelay(ctx, far, "far-relay", b.center, "far-one")
	if err != nil {
		return far, err
	}
	upper, err := b.farRelay(ctx, far, "far-upper-relay", b.center, "far-two")
	if err != nil {
		return far, err
	}
	lower, err := b.farRelay(ctx, far, "far-lower-relay", upper, "far-deep")
	if err != nil {
		return far, err
	}
	for i, a := range []struct {
		name, target string // target is the child of the center that the agent is below
		parent       *drive.Center
	}{{"far-below-one", "far-one", relay}, {"far-below-two", "far-two", lower}} {
		at, err := b.farLink(far, a.parent)
		if err != nil {
			return far, err
		}
		p, err := b.startBeside(ctx, w, a.name, a.parent, at)
		if err != nil {
			return far, err
		}
		far.stop = append(far.stop, p.Stop)
		if err := b.streamPods(ctx, w, farNS(i+1), a.target); err != nil {
			return far, err
		}
	}
	return far, nil
}

// farRelay starts a relay that reaches its parent over a new link.
func (b *bench) farRelay(
	ctx context.Context,
	far *farWays,
	name string,
	parent *drive.Center,
	as string,
) (*drive.Center, error) {
	at, err := b.farLink(far, parent)
	if err != nil {
		return nil, err
	}
	c, err := b.startRelay(ctx, name, parent, at, as)
	if err == nil {
		far.stop = append(far.stop, c.Stop)
	}
	return c, err
}

func (b *bench) farLink(far *farWays, parent *drive.Center) (address string, err error) {
	l, err := newLink(parent.Address)
	if err != nil {
		return "", err
	}
	far.links, b.stop = append(far.links, l), append(b.stop, l.Close)
	return l.Address, nil
}

// close stops the processes. What they were known as stays, disconnected.
func (f *farWays) close() {
	for i := len(f.stop) - 1; i >= 0; i-- {
		f.stop[i]()
	}
}
