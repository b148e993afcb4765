package agent

import (
	"context"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/work"
)

// The target is asked which cluster it is, and how far its history has got, every identifyEvery, and has identifyTime to answer. Watches do not tell it
// where nothing is placed; and one that is open says nothing of an API server that is frozen.
const (
	identifyEvery = 5 * time.Second
	identifyTime  = 3 * time.Second
)

// known is what the target last said of itself.
type known struct {
	mu sync.Mutex
	at target.Identity
}

func (k *known) get() target.Identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at
}

// take takes over what the target says of itself, and reports whether its history went back: it was restored from a backup.
func (k *known) take(now target.Identity) (back bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	back = now.Cluster == k.at.Cluster && now.Revision > 0 && now.Revision < k.at.Revision
	k.at = now
	return back
}

// identify follows which cluster the target is until ctx ends.
func (a *agent) identify(ctx context.Context) error {
	for {
		a.identifyOnce(ctx)
		if !work.Pause(ctx, identifyEvery) {
			return nil
		}
	}
}

func (a *agent) identifyOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	client, err := a.clients.For(target.RootSpace)
	var now target.Identity
	if err == nil {
		now, err = client.Identify(ctx)
	}
	if err != nil {
		a.Log.Debug("the target does not say which cluster it is", "err", err)
		return
	}
	was := a.known.get()
	if a.known.take(now) {
		a.Log.Warn("the target's history went back; it is searched for what was deleted since", "now", now.Revision, "was", was.Revision)
		a.cache.sweepAgain()
	}
	if was.Cluster != now.Cluster {
		a.self.writesTo(now)
	}
}
