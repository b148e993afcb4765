package agent

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// A target that does not answer is asked again after probeFirst, then ever less often up to
// probeLimit. It is reported as unreachable after unreachableAfter, because the restart of an API
// server is no news.
const (
	probeFirst       = 500 * time.Millisecond
	probeLimit       = 15 * time.Second
	unreachableAfter = 5 * time.Second
)

// followTarget reports to the parent while the target is unreachable. It resumes what waited as
// soon as the target answers.
func (a *agent) followTarget(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.clients.Reach.Changed():
		}
		a.untilReached(ctx)
		// One that answers now and then has all that waits tried again each time, which must not
		// keep it from recovering.
		if !ondemand.Pause(ctx, probeFirst) {
			return nil
		}
	}
}

func (a *agent) untilReached(ctx context.Context) {
	told := ""
	for wait := probeFirst; ctx.Err() == nil; wait = min(2*wait, probeLimit) {
		since, why, failing := a.clients.Reach.Failing()
		if !failing {
			break
		}
		if reason, advice := target.Unreachable(why); reason != told && time.Since(since) >= unreachableAfter {
			a.Log.Warn("the target does not answer; what runs there goes on as it is",
				"reason", reason, "since", since, "err", why)
			a.conditions.Set(
				tunnel.Condition{
					Type:   tunnel.TargetReachable,
					Status: tunnel.False,
					Reason: reason,
					Message: fmt.Sprintf(
						"the agent cannot reach its cluster since %s: %v; what runs there goes on as it is; %s",
						since.UTC().Format(time.RFC3339),
						why,
						advice,
					),
				},
			)
			told = reason
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
			if err := a.identifyOnce(ctx); err != nil {
				a.Log.Debug(
					"the target answers as another one",
					"err",
					err,
				) // identify sees it, too, and ends the agent
			}
		case <-a.clients.Reach.Changed():
		}
		timer.Stop()
	}
	if ctx.Err() != nil {
		return
	}
	if told != "" {
		a.Log.Info("the target answers again")
		a.conditions.Clear(tunnel.TargetReachable)
	}
	a.observer.Retry()
	a.applier.Retry()
}
