package machine

import (
	"context"
	"net"
	"syscall"

	"skerry.dev/skerry/tunnel/doctor"
)

var smallBuffers = doctor.Fault{Name: "udp-buffers-small",
	Means: "The kernel's UDP buffers are small: a center with many sites loses packets of bursts and sends them again.",
	Fix:   "sysctl -w net.core.rmem_max=7500000 net.core.wmem_max=7500000 (the packages set it)"}

// UDPBuffers returns the check whether the kernel gives a UDP socket buffers of so many bytes.
func UDPBuffers(want int) doctor.Check {
	return doctor.Check{Name: "machine.udp-buffers", What: "the kernel's UDP buffers are large enough",
		Faults: []doctor.Fault{smallBuffers},
		Run: func(context.Context) []doctor.Finding {
			receive, send, err := buffers(want)
			switch {
			case err != nil:
				return one(doctor.Skip("no UDP socket can be opened: %s", cause(err)))
			case receive < want || send < want:
				return one(smallBuffers.Warns("the kernel gives %d bytes to receive and %d to send, of %d",
					min(receive, want), min(send, want), want))
			}
			return one(doctor.Good("%d bytes", want))
		}}
}

// buffers returns what the kernel gives to a socket that asks for so much.
func buffers(want int) (receive, send int, err error) {
	packet, err := net.ListenUDP("udp", nil)
	if err != nil {
		return 0, 0, err
	}
	defer packet.Close()
	if err := packet.SetReadBuffer(want); err != nil {
		return 0, 0, err
	}
	if err := packet.SetWriteBuffer(want); err != nil {
		return 0, 0, err
	}
	raw, err := packet.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		receive, failed = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF)
		if failed == nil {
			send, failed = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
		}
	})
	if err == nil {
		err = failed
	}
	return receive / 2, send / 2, err // the kernel doubles it for its own books
}
