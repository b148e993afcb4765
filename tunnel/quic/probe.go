package quic

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"
)

// FullPacket is the payload of a full datagram of a session, which a path must carry. With the
// headers of UDP and IPv4 it is a packet of 1,228 bytes.
const FullPacket = packetSize

// probeSizes are the payloads that Probe tries.
var probeSizes = []int{64, 300, 552, 800, 1000, 1100, 1152, FullPacket}

// Times of a probe. Each size is sent again, because a packet may be lost.
const (
	probeGap   = 20 * time.Millisecond // between two sizes, so that the parent's queue has room
	probeAgain = 400 * time.Millisecond
	probeTries = 6
)

// ErrNoListener is returned by Probe when the machine is there and nothing listens.
var ErrNoListener = errors.New("nothing listens on that UDP port")

// Probe returns the largest payload of a datagram that a parent at HOST:PORT has answered:
// FullPacket where a session may be, less where full packets vanish, 0 where nothing is answered.
// It makes no connection. It sends what looks like packets of a connection that the parent does not
// know, each answered by a stateless reset (RFC 9000, 10.3).
func Probe(ctx context.Context, address string) (largest int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		size int
		err  error
	}
	answers := make(chan answer, len(probeSizes))
	for i, size := range slices.Backward(probeSizes) {
		go func() {
			select {
			case <-time.After(time.Duration(len(probeSizes)-1-i) * probeGap):
				answers <- answer{size, probe(ctx, address, size)}
			case <-ctx.Done():
				answers <- answer{size, ctx.Err()}
			}
		}()
	}
	var errs []error
	for range probeSizes {
		switch a := <-answers; {
		case a.err == nil:
			if largest = max(largest, a.size); largest == FullPacket {
				cancel()
			}
		case errors.Is(a.err, ErrNoListener):
			cancel()
			errs = []error{a.err}
		case ctx.Err() == nil && !errors.Is(a.err, errNobody):
			errs = append(errs, a.err)
		}
	}
	if largest > 0 {
		return largest, nil
	}
	return 0, errors.Join(errs...)
}

// probe sends datagrams of one size until one is answered.
func probe(ctx context.Context, address string, size int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", address)
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	packet := make([]byte, size)
	rand.Read(packet)
	packet[0] = packet[0]&0x3f | 0x40 // a short header: of no version, and of no known connection
	answer := make([]byte, 64)
	for range probeTries {
		if ctx.Err() == nil {
			_ = conn.SetReadDeadline(time.Now().Add(probeAgain))
		}
		_, err := conn.Write(packet)
		if err == nil {
			_, err = conn.Read(answer)
		}
		var timeout net.Error
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, syscall.ECONNREFUSED):
			return ErrNoListener
		case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, syscall.EMSGSIZE):
		default:
			return fmt.Errorf("probe: %w", err)
		}
	}
	return errNobody
}
