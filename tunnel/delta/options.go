package delta

import (
	"log/slog"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// SendOptions say how a sender sends. Down and Up return the ones that tiers use.
type SendOptions struct {
	// Terms limits when and what is sent. It may change while the sender runs. Nil is the policy of
	// a LAN, downwards.
	Policy *Regulator
	// UrgentFirst sends the more urgent entries first, whatever their order in the feed. The
	// receiver's position stands still until all others are sent, too.
	UrgentFirst bool
	// MaxInFlightBatches bounds the batches that are not acknowledged; 0 means that only bytes
	// count.
	MaxInFlightBatches int
	// PatchBytes is how many compressed bytes of bodies are kept, to send later versions as
	// patches. 0 sends whole bodies.
	PatchBytes int
	// Shared renders bodies once for several senders; PatchBytes is not used then. It must be nil
	// for feeds of reports. It may be nil.
	Shared *Shared
	// Tracer follows entries that are sampled; nil follows none.
	Tracer Tracer
	// OnAck is called from the stream's reader when the receiver has durably stored a position.
	OnAck func(store.Position)
	// OnStalled is called on a goroutine of its own when a batch has waited long for its
	// acknowledgement. It is called again, ever less often, while the batch waits. The receiver's
	// disk may be slow, or the link may lose large packets. It may be nil.
	OnStalled func()
	// OnHeld is called from Send's goroutine when the receiver holds, and again when what it would
	// lose has changed. It may be nil.
	OnHeld func(Held)
	// Meter counts what is sent, by Purpose. Both may be nil.
	Meter   *traffic.Meter
	Purpose func(store.Entry) traffic.Purpose
	// Log may be nil.
	Log *slog.Logger
}

// Down returns the options of desired feeds, which are sent in their order.
func Down(c Class) SendOptions {
	return SendOptions{Policy: NewRegulator(c.Down()), PatchBytes: 64 << 10}
}

// Up returns the options of reported feeds.
func Up(c Class) SendOptions {
	return SendOptions{Policy: NewRegulator(c.Up()), UrgentFirst: true, MaxInFlightBatches: 2, PatchBytes: 256 << 10}
}

// ReceiveOptions say how a receiver receives.
type ReceiveOptions struct {
	// OnAdmit is called once the sender is known to be the one that the copy came from. OnHold is
	// called if it is not; the error is store.ErrRegressed with what was seen. They may be nil.
	OnAdmit func()
	OnHold  func(error)
	// Recheck compares the copy on request; it may be nil.
	Recheck *Recheck
	// RecentBytes bounds the bodies that are kept in memory after they were stored. An object that
	// changes again is a patch against one of them. Without it the copy would have to read and
	// decompress that base. 0 keeps none.
	RecentBytes int
	// OnTraced is called for each entry that belongs to a trace, before the entry is stored. Nil asks
	// the sender not to tell.
	OnTraced func(k store.Key, ids wire.TraceIDs)
	// Meter counts what is received; Purpose says what for. Both may be nil.
	Meter   *traffic.Meter
	Purpose func(store.Entry) traffic.Purpose
	// Log may be nil.
	Log *slog.Logger
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
