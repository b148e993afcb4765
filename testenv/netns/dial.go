package netns

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Dial has a dialer connect to an IP address and port from inside a namespace; "" is the machine's own. The
// connection stays there, and the process does not.
func Dial(ctx context.Context, dialer *net.Dialer, name, network, address string) (conn net.Conn, err error) {
	if name == "" {
		return dialer.DialContext(ctx, network, address)
	}
	there, err := os.Open(File(name))
	if err != nil {
		return nil, fmt.Errorf("enter the network of %s: %w", name, err)
	}
	defer there.Close()
	runtime.LockOSThread() // a socket belongs to the namespace of the thread that makes it
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("find this network: %w", err)
	}
	defer here.Close()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("enter the network of %s: %w", name, err)
	}
	conn, err = dialer.DialContext(ctx, network, address)
	if back := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); back != nil {
		return nil, fmt.Errorf("leave the network of %s: %w", name, back) // the thread ends with its goroutine
	}
	runtime.UnlockOSThread()
	return conn, err
}
