package mux

import (
	"time"

	"skerry.dev/skerry/tunnel"
)

// Profile bounds what a peer can make this side hold, and says when a connection is dead. Both ends
// of a connection have the same.
type Profile struct {
	// StreamWindow is what a stream may hold unread at first, MaxStreamWindow what its window may
	// grow to, ConnectionWindow what all streams may hold. All are bytes.
	StreamWindow, MaxStreamWindow, ConnectionWindow int
	// ChildWindow and MaxChildWindow are those of the streams that the child opens; zero where they
	// are the same. Such streams may take half of a Budget.
	ChildWindow, MaxChildWindow int
	// ChildStreams and ParentStreams are how many streams each side may have open.
	ChildStreams, ParentStreams int
	// FailsFull has OpenStream fail with ErrTooManyStreams instead of waiting for room.
	FailsFull bool
	// ReadBuffer is what an idle connection holds to read frames.
	ReadBuffer int
	// KeepAlive is how long a side hears nothing until it asks for a heartbeat. Only a child asks,
	// unless BothAsk is set. Dead is how long nothing may come until the connection counts as dead.
	KeepAlive, Dead time.Duration
	BothAsk         bool
	// Unused is how long a connection stands without a stream until its parent closes it; 0 is for
	// ever. A child waits for half as long again.
	Unused time.Duration
}

// Sync is the profile of a session's connection, as package quic has it.
var Sync = Profile{
	StreamWindow: 128 << 10, MaxStreamWindow: 128 << 10, ConnectionWindow: 512 << 10,
	ChildStreams: 16, ParentStreams: 1024, ReadBuffer: 2 << 10,
	KeepAlive: tunnel.IdleKeepAlive, Dead: tunnel.Idle,
}

// Limits of a data connection. A window of 4 MiB carries 40 MB/s over a round trip of 100 ms. A child
// asks for APIs: it has many streams, watches above all, and little on each. The connection's window
// is more than any Budget has, so a stream that nobody reads stops no other. Streams begin with little, since most of
// thousands are idle.
const (
	dataChildStreams  = 2048
	dataParentStreams = 1280
	dataStreamWindow  = 4 << 20
	dataChildWindow   = 1 << 20
	dataWindow        = 1 << 30
)

// Data is the profile of a data connection.
var Data = Profile{
	StreamWindow: 32 << 10, MaxStreamWindow: dataStreamWindow,
	ChildWindow: 16 << 10, MaxChildWindow: dataChildWindow,
	ConnectionWindow: dataWindow,
	ChildStreams:     dataChildStreams, ParentStreams: dataParentStreams, FailsFull: true,
	ReadBuffer: 32 << 10,
	KeepAlive:  3 * time.Second, Dead: 9 * time.Second, BothAsk: true, Unused: time.Minute,
}
