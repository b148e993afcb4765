package delta

import (
	"log/slog"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
)

// SendOptions say how a sender sends. Down and Up are the ones that tiers use.
type SendOptions struct {
	// Terms say when and what. They may change while the sender runs; nil are those of a LAN, downwards.
	Terms *Regulator
	// UrgentFirst sends the more urgent entries first, whatever their order in the feed. The receiver's position stands still until
	// all others are sent too.
	UrgentFirst bool
	// MaxInFlightBatches bounds their number; 0 means that only bytes count.
	MaxInFlightBatches int
	// PatchBytes is how many compressed bytes of bodies are kept to send later versions of them as patches; 0 sends whole bodies.
	PatchBytes int
	// Shared makes bodies once for several senders; PatchBytes is not used then. It must not be given for feeds of reports. It may be nil.
	Shared *Shared
	// OnAck is called from the stream's reader whenever the receiver has durably reached a position.
	OnAck func(store.Position)
	// OnStalled is called on a goroutine of its own when a batch has waited long for its acknowledgement, and ever more seldom as long as it waits: the
	// receiver's disk may be slow, or the link loses what is large. It may be nil.
	OnStalled func()
	// OnHeld is called from Send's goroutine when the receiver holds, and again when what it would lose has changed. It may be nil.
	OnHeld func(Held)
	// Meter counts what is sent; Purpose says what for. Both may be nil.
	Meter   *traffic.Meter
	Purpose func(store.Entry) traffic.Purpose
	// Log may be nil.
	Log *slog.Logger
}

// Down are the options of desired feeds, which are sent in their order.
func Down(c Class) SendOptions {
	return SendOptions{Terms: NewRegulator(c.Down()), PatchBytes: 64 << 10}
}

// Up are the options of reported feeds.
func Up(c Class) SendOptions {
	return SendOptions{Terms: NewRegulator(c.Up()), UrgentFirst: true, MaxInFlightBatches: 2, PatchBytes: 256 << 10}
}

// ReceiveOptions are those of a receiver.
type ReceiveOptions struct {
	// OnAdmit is called once the sender is known to be the one that the copy came from, OnHold when it is not: the error is
	// store.ErrRegressed and says what was seen. They may be nil.
	OnAdmit func()
	OnHold  func(error)
	// Recheck compares the copy when it is asked to; it may be nil.
	Recheck *Recheck
	// RecentBytes is how many bytes of bodies that were stored lately are kept in memory: what changes again is a patch against one of them, which the copy
	// would have to read and decompress. 0 keeps none.
	RecentBytes int
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
