package delta

import (
	"log/slog"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
)

// Window is the least time between two batches. It grows from Min to Max while there is much to send and shrinks when there is little; the
// first change after a pause goes at once.
type Window struct{ Min, Max time.Duration }

// SendOptions say how eager a sender is. Down and Up are the ones that tiers use.
type SendOptions struct {
	Window Window
	// MaxInFlightBytes is how many bytes of batches may wait for their acknowledgement; meanwhile changes coalesce.
	MaxInFlightBytes int
	// MaxInFlightBatches bounds their number; 0 means that only bytes count.
	MaxInFlightBatches int
	// PatchBytes is how many compressed bytes of bodies are kept to send later versions of them as patches; 0 sends whole bodies.
	PatchBytes int
	// OnAck is called from the stream's reader whenever the receiver has durably reached a position.
	OnAck func(store.Position)
	// OnHeld is called from Send's goroutine when the receiver holds, and again when what it would lose has changed. It may be nil.
	OnHeld func(Held)
	// Meter counts what is sent; Purpose says what for. Both may be nil.
	Meter   *traffic.Meter
	Purpose func(store.Entry) traffic.Purpose
	// Log may be nil.
	Log *slog.Logger
}

// Down are the options of desired feeds: at once, several batches in flight.
func Down() SendOptions {
	return SendOptions{MaxInFlightBytes: 1 << 20, PatchBytes: 64 << 10}
}

// Up are the options of reported feeds on a LAN.
func Up() SendOptions {
	return SendOptions{Window: Window{50 * time.Millisecond, time.Second}, MaxInFlightBytes: 256 << 10, MaxInFlightBatches: 2, PatchBytes: 256 << 10}
}

// ReceiveOptions are those of a receiver.
type ReceiveOptions struct {
	// OnAdmit is called once the sender is known to be the one that the copy came from, OnHold when it is not: the error is
	// store.ErrRegressed and says what was seen. They may be nil.
	OnAdmit func()
	OnHold  func(error)
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
