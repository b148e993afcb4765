package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// What Probe returns, beside errors of a cluster that does not answer.
var (
	// ErrRefused is returned when the members do not accept this center's certificate, user or rights.
	ErrRefused = errors.New("etcd refuses this center")
	// ErrFull is returned when the database has reached its quota.
	ErrFull = errors.New("the database of etcd has reached its quota")
	// ErrNoLeader is returned when members answer and too few of them for a write.
	ErrNoLeader = errors.New("etcd has no leader: more than half of its members have to run, and to reach each other")
)

// leaderTimeout is how long a cluster may take for reads that its leader confirms.
const leaderTimeout = 5 * time.Second

// Probe connects to a cluster as a center does, and looks whether it takes writes. It writes nothing.
// Beside the errors above it returns ErrEndpoint and ErrTooOld.
func Probe(ctx context.Context, c Config) error {
	s, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	if _, err := s.meta.Get(ctx, "probe"); err != nil {
		if err = explain(err); errors.Is(err, ErrRefused) {
			return err
		}
		return fmt.Errorf("%w (%w)", ErrNoLeader, err)
	}
	// A user of few rights may not ask for alarms: the center finds out when it writes.
	if alarms, err := s.client.AlarmList(ctx); err == nil {
		for _, a := range alarms.Alarms {
			if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
				return ErrFull
			}
		}
	}
	return nil
}
