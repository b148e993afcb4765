package agent

import (
	"context"
	"errors"
	"time"

	"skerry.dev/skerry/agent/uplink"
)

// uplink joins and keeps the session. It begins after those objects were looked up, because a
// tombstone deletes only what is recorded.
func (a *agent) uplink(ctx context.Context) error {
	timer := time.NewTimer(compareTime)
	defer timer.Stop()
	for _, looked := range []<-chan struct{}{a.applier.Compared(), a.cache.swept} {
		select {
		case <-ctx.Done():
			return nil
		case <-looked:
		case <-timer.C:
			a.Log.Warn("the target does not answer; going on with what is known of it")
			timer.Reset(0)
		}
	}
	for ctx.Err() == nil {
		session, again := context.WithCancelCause(ctx)
		a.cache.session(func() { again(errCompare) })
		err := uplink.Run(session, a.link())
		compare := context.Cause(session) == errCompare
		again(nil)
		if !compare {
			return a.over(ctx, err)
		}
	}
	return nil
}

// errCompare ends a session so that the next one compares digests.
var errCompare = errors.New("the copy has to be compared with the parent")

// link is what the sessions work with.
func (a *agent) link() uplink.Config {
	c := uplink.Config{
		Dir: a.DataDir, Parents: a.Parents, Proxy: a.Proxy, Keep: a.file, Token: a.Token, Name: a.Name,
		Labels: a.Labels, Log: a.Log, Named: a.self.set,
		Welcomed: a.welcomed, OnSession: a.status.session, Desired: marked{a.guard, a.cache.named, a.identity},
		Reported: a.observer.Feed(), ReportedReady: a.cache.reports,
		Hello: a.hello, Clock: a.clock, Conditions: &a.conditions, OnAccept: a.accepted,
		OnNarrow: a.narrowed, Lease: a.leased, OnHeartbeat: a.figures.heartbeat, Meter: a.figures.meter,
		Streams: a.streams(), Upward: a.Upward, Data: a.figures.data,
	}
	if a.wish != nil {
		c.OnWish = a.wish.Set
	}
	if a.trace != nil {
		c.OnTraced = a.trace.Received
	}
	return c
}
