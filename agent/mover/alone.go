package mover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/tunnel/ondemand"
)

const (
	// othersEnd is how long a receiver waits for one before it. That ends when it notices that its stream is cut,
	// and writes until then.
	othersEnd = 30 * time.Second
	lookAgain = 50 * time.Millisecond
)

// alone waits until no other receiver writes to a volume, and keeps all others out until what it returns is closed,
// or the process ends. File systems that have no locks keep nobody out.
func alone(ctx context.Context, root *os.Root) (io.Closer, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open the volume: %w", err)
	}
	for until := time.Now().Add(othersEnd); ; {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil, errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP),
			errors.Is(err, unix.ENOSYS):
			return f, nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			f.Close()
			return nil, fmt.Errorf("lock the volume: %w", err)
		case time.Now().After(until):
			f.Close()
			return nil, errors.New("an earlier copy still writes to the volume; it ends when its stream does")
		}
		if !ondemand.Pause(ctx, lookAgain) {
			f.Close()
			return nil, context.Cause(ctx)
		}
	}
}
