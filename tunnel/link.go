package tunnel

import (
	"context"
	"errors"
	"net"
	"time"
)

// link is a Conn as its Meter sees it.
type link struct{ Conn }

// Crossed implements traffic.Link.
func (l link) Crossed() (sent, received uint64) {
	s := l.Stats()
	return s.SentBytes, s.ReceivedBytes
}

// LastHeard returns when the peer was last heard of, given when and why the connection ended.
func LastHeard(ended time.Time, why error) time.Time {
	if silent(why) {
		return ended.Add(-Idle)
	}
	return ended
}

func silent(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// endOf returns the reason why a session ended as a label of a metric.
func endOf(err error) string {
	var refused *Refused
	switch {
	case errors.Is(err, ErrDraining):
		return "draining"
	case errors.Is(err, ErrReplaced):
		return "replaced"
	case errors.Is(err, ErrRemoved):
		return "removed"
	case errors.Is(err, ErrStalled):
		return "stalled"
	case errors.As(err, &refused), errors.Is(err, ErrRefused):
		return "refused"
	case errors.Is(err, ErrRenewed):
		return "renewed"
	case errors.Is(err, ErrProtocol):
		return "protocol"
	case errors.Is(err, context.Canceled):
		return "stopped"
	case silent(err):
		return "silent"
	default:
		return "broken"
	}
}
