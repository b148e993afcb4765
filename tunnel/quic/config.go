package quic

import (
	"log/slog"
	"net"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

// Times after which a silent handshake is given up. The parent gives up so soon that a flood takes
// little memory, and late enough for a slow link. The child waits a little longer, because a parent
// with thousands to admit may be slow.
const (
	handshakeIdle      = 5 * time.Second
	childHandshakeIdle = 6 * time.Second
)

// packetSize is the largest payload of a datagram, the least that QUIC allows. Some paths silently
// lose anything larger, and deltas are small.
const packetSize = 1200

// Windows bound what a peer can make this side hold: the stream window for each stream, the
// connection window for all.
const (
	streamWindow     = 128 << 10
	connectionWindow = 512 << 10
	maxStreams       = 16
)

// maxStreamsOfParent is how many streams a parent may open to its child: one for each request that
// it proxies.
const maxStreamsOfParent = 1024

func common() *quicgo.Config {
	return &quicgo.Config{
		HandshakeIdleTimeout:           handshakeIdle,
		MaxIdleTimeout:                 quicIdle,
		InitialStreamReceiveWindow:     streamWindow,
		MaxStreamReceiveWindow:         streamWindow,
		InitialConnectionReceiveWindow: connectionWindow,
		MaxConnectionReceiveWindow:     connectionWindow,
		MaxIncomingUniStreams:          -1,
		InitialPacketSize:              packetSize,
		DisablePathMTUDiscovery:        true, // probing for more costs more than it saves
	}
}

func childConfig() *quicgo.Config {
	c := common()
	c.HandshakeIdleTimeout = childHandshakeIdle
	c.KeepAlivePeriod = quicKeepAlive
	c.MaxIncomingStreams = maxStreamsOfParent
	return c
}

func parentConfig() *quicgo.Config {
	c := common()
	c.MaxIncomingStreams = maxStreams
	return c
}

// WantBuffer is the size of the kernel's UDP buffers that a busy center needs.
const WantBuffer = 2 << 20

// growBuffers asks the kernel for larger UDP buffers. If it refuses, bursts of packets are lost and
// sent again. That is slower, and is logged once.
func growBuffers(conn net.PacketConn, log *slog.Logger) {
	u, ok := conn.(*net.UDPConn)
	if !ok {
		return
	}
	readErr, writeErr := u.SetReadBuffer(WantBuffer), u.SetWriteBuffer(WantBuffer)
	if readErr != nil || writeErr != nil {
		log.Warn(
			"the kernel's UDP buffers are small; raise them with: sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000",
			"want",
			WantBuffer,
			"readErr",
			readErr,
			"writeErr",
			writeErr,
		)
	}
}
