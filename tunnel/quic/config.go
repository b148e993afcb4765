package quic

import (
	"log/slog"
	"net"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

// Times of a connection. A black-holed dial is noticed after handshakeIdle, a dead connection after idle; NAT tables forget a mapping
// after 30 s at the earliest, so the child speaks every keepAlive.
const (
	handshakeIdle = 2500 * time.Millisecond
	idle          = 70 * time.Second
	keepAlive     = 24 * time.Second
)

// Windows bound what a peer can make this side hold: the stream window for each stream, the connection window for all.
const (
	streamWindow     = 128 << 10
	connectionWindow = 512 << 10
	maxStreams       = 16
)

// maxStreamsOfParent is how many streams a parent may open to its child: one for each request that it proxies.
const maxStreamsOfParent = 1024

func common() *quicgo.Config {
	return &quicgo.Config{
		HandshakeIdleTimeout:           handshakeIdle,
		MaxIdleTimeout:                 idle,
		InitialStreamReceiveWindow:     streamWindow,
		MaxStreamReceiveWindow:         streamWindow,
		InitialConnectionReceiveWindow: connectionWindow,
		MaxConnectionReceiveWindow:     connectionWindow,
		MaxIncomingUniStreams:          -1,
		// Deltas are small: probing for a larger packet costs more than it saves, and 1,280 bytes pass everywhere.
		DisablePathMTUDiscovery: true,
	}
}

func childConfig() *quicgo.Config {
	c := common()
	c.KeepAlivePeriod = keepAlive
	c.MaxIncomingStreams = maxStreamsOfParent
	return c
}

func parentConfig() *quicgo.Config {
	c := common()
	c.MaxIncomingStreams = maxStreams
	return c
}

// wantBuffer is the size of the kernel's UDP buffers that a busy center needs.
const wantBuffer = 2 << 20

// growBuffers asks the kernel for larger UDP buffers. Where it does not give them, a burst of packets is lost and sent again: slower, and
// worth telling once.
func growBuffers(conn net.PacketConn, log *slog.Logger) {
	u, ok := conn.(*net.UDPConn)
	if !ok {
		return
	}
	readErr, writeErr := u.SetReadBuffer(wantBuffer), u.SetWriteBuffer(wantBuffer)
	if readErr != nil || writeErr != nil {
		log.Warn("the kernel's UDP buffers are small; raise them with: sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000",
			"want", wantBuffer, "readErr", readErr, "writeErr", writeErr)
	}
}
