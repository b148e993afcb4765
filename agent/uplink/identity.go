package uplink

import (
	"context"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
)

// tolerable is how far the clocks of a site and its parent may differ before people are told.
const tolerable = 30 * time.Second

// clockPause is how often the clocks are compared during a session: somebody may set this machine's
// clock.
const clockPause = time.Minute

// told is what the conditions say of clock and certificate.
type told struct {
	mu      sync.Mutex
	failing time.Time     // since when renewing the certificate fails; zero when it does not
	offset  time.Duration // of the clock; 0 when it is tolerable
	since   time.Time     // when it was first seen to be off
}

func (u *uplink) watchClock(ctx context.Context) {
	tick := time.NewTicker(clockPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.setClockCondition()
		case <-ctx.Done():
			return
		}
	}
}

// setClockCondition sets the condition ClockInSync. The message names a new offset only when it
// differs by more than what is tolerable. So a drifting clock does not write the status again and
// again.
func (u *uplink) setClockCondition() {
	offset, ok := u.Clock.Offset()
	if !ok || u.Conditions == nil {
		return
	}
	u.told.mu.Lock()
	defer u.told.mu.Unlock()
	if offset.Abs() <= tolerable {
		u.told.offset, u.told.since = 0, time.Time{}
		u.Conditions.Set(
			tunnel.Condition{
				Type:    tunnel.ClockInSync,
				Status:  tunnel.True,
				Reason:  "InSync",
				Message: "the clock agrees with the center's",
			},
		)
		return
	}
	if (offset - u.told.offset).Abs() <= tolerable {
		return
	}
	if u.told.since.IsZero() {
		u.told.since = u.Clock.Now()
	}
	u.told.offset = offset
	reason, way := "Ahead", "ahead of"
	if offset < 0 {
		reason, way = "Behind", "behind"
	}
	text := fmt.Sprintf(
		"this machine's clock is %s %s the center's, seen since %s; the center's time counts for "+
			"certificates. Set the clock: timedatectl set-ntp true",
		offset.Abs().Round(time.Second),
		way,
		u.told.since.UTC().Format(time.RFC3339),
	)
	u.Log.Warn("the clock is wrong", "offset", offset.Round(time.Second))
	u.Conditions.Set(tunnel.Condition{Type: tunnel.ClockInSync, Status: tunnel.False, Reason: reason, Message: text})
}

// renewal returns how the session renews the credentials. Its outcome becomes a condition.
func (u *uplink) renewal() *tunnel.Renewal {
	r := u.credentials.Renewal()
	r.Tried = u.setCertificateCondition
	return r
}

// setCertificateCondition sets the condition CertificateValid after an attempt to renew, or at the
// start of a session.
func (u *uplink) setCertificateCondition(err error) {
	if u.Conditions == nil {
		return
	}
	u.told.mu.Lock()
	defer u.told.mu.Unlock()
	until := u.credentials.NotAfter().UTC().Format(time.RFC3339)
	if err == nil {
		u.told.failing = time.Time{}
		u.Conditions.Set(
			tunnel.Condition{
				Type:    tunnel.CertificateValid,
				Status:  tunnel.True,
				Reason:  "Valid",
				Message: "the certificate is valid until " + until,
			},
		)
		return
	}
	if u.told.failing.IsZero() {
		u.told.failing = u.Clock.Now()
	}
	u.Conditions.Set(tunnel.Condition{Type: tunnel.CertificateValid, Status: tunnel.False, Reason: "RenewalFailing",
		Message: fmt.Sprintf(
			"the certificate is valid until %s, and renewing it has failed since %s: %v",
			until,
			u.told.failing.UTC().Format(time.RFC3339),
			err,
		)})
}
