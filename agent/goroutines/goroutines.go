package goroutines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// File is the name of the socket in an agent's data directory.
const File = "goroutines.sock"

const (
	// maxBytes bounds the stacks: those of some thousand goroutines. All goroutines stand still
	// while they are written down.
	maxBytes = 2 << 20
	// firstBytes is for an agent with few sites or objects under way.
	firstBytes = 128 << 10
	// writeTime is how long a reader may take.
	writeTime = 5 * time.Second
	// pause is how long at least lies between two readers.
	pause = 200 * time.Millisecond
	// maxPath is how long a path of a socket may be (sun_path of Linux, with its end).
	maxPath = 107
)

// truncated ends stacks that are too many.
const truncated = "\n... more are left out\n"

// Serve sends the stacks to whoever connects, one after the other, until ctx ends. An error is that
// the directory has no socket: another one of the agent's parts must not end for it.
func Serve(ctx context.Context, dir string) error {
	path, err := socket(dir)
	if err != nil {
		return err
	}
	// One that was killed has left its own. No other agent runs on the directory.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() }) // also removes the file
	defer func() {
		if stop() {
			l.Close()
		}
	}()
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen on %s: %w", path, err)
		}
		answer(ctx, conn)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// answer sends the stacks to one reader. One that goes away misses them.
func answer(ctx context.Context, conn net.Conn) {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	text := stacks() // a busy machine may need seconds for it
	if err := conn.SetDeadline(time.Now().Add(writeTime)); err != nil {
		return
	}
	_, _ = conn.Write(text)
}

// stacks are those of all goroutines, at most maxBytes.
func stacks() []byte {
	for size := firstBytes; ; size *= 4 {
		size = min(size, maxBytes)
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return buf[:n]
		} else if size == maxBytes {
			return append(buf, truncated...)
		}
	}
}

// Read asks the agent of a data directory for the stacks. It returns fs.ErrNotExist, wrapped, where
// none has run, and syscall.ECONNREFUSED, wrapped, where none runs now.
func Read(ctx context.Context, dir string) ([]byte, error) {
	path, err := socket(dir)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("ask the agent for its goroutines: %w", err)
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	const limit = maxBytes + int64(len(truncated))
	text, err := io.ReadAll(io.LimitReader(conn, limit))
	if err != nil {
		return nil, fmt.Errorf("read the goroutines of the agent: %w", err)
	}
	if len(text) == 0 {
		return nil, errors.New("the agent has ended before it has said its goroutines")
	}
	return text, nil
}

func socket(dir string) (string, error) {
	path := filepath.Join(dir, File)
	if len(path) > maxPath {
		return "", fmt.Errorf("%s is longer than the %d bytes that a socket's path may have", path, maxPath)
	}
	return path, nil
}
