package proxy

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// smallSegments asks for segments that pass where larger ones vanish without a word. The other side
// is told, too, when the connection is made.
func smallSegments(_, _ string, c syscall.RawConn) error {
	// It is a wish: where it cannot be had the connection is made as any other.
	return c.Control(
		func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, maxSegment) },
	)
}
