package door

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// roll is who has a session over QUIC and from where, kept in a file, so that a center that was killed can call its sites: one that has nothing to
// say would notice only at its next sign of life. It is a hint and nothing more: it is not synced, what cannot be read is left out, and
// losing it costs seconds.
type roll struct {
	path string
	log  *slog.Logger

	mu      sync.Mutex
	entries map[string]netip.AddrPort
	dirty   chan struct{}
}

const (
	// maxRoll bounds the roll, in memory and in the file.
	maxRoll = 50_000
	// rollDelay is the least time between two writes of the file; a large one is written more seldom. The first change after a pause is written at once:
	// a center may be killed right after a site has come from another address.
	rollDelay    = time.Second
	rollDelayPer = time.Second / 2000
	// callPace is how long the center waits between two calls: a site that was called comes with a handshake.
	callPace = 4 * time.Millisecond
	// maxRollLine is a name, an address and a space.
	maxRollLine = 128
)

// callAgain is how long after the call before it sites that have not come are called again: a datagram may be lost, and a link that was down when the
// center died may come back later than the center. They are called for half a minute, ever more seldom.
var callAgain = []time.Duration{0, 700 * time.Millisecond, 800 * time.Millisecond, time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second,
	4 * time.Second, 6 * time.Second, 9 * time.Second}

func newRoll(path string, log *slog.Logger) *roll {
	return &roll{path: path, log: log, entries: map[string]netip.AddrPort{}, dirty: make(chan struct{}, 1)}
}

// load returns what the file says.
func (r *roll) load() map[string]netip.AddrPort {
	out := map[string]netip.AddrPort{}
	f, err := os.Open(r.path)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			r.log.Debug("who was connected before is not known", "err", err)
		}
		return out
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxRoll*maxRollLine))
	lines.Buffer(make([]byte, maxRollLine), maxRollLine)
	for lines.Scan() && len(out) < maxRoll {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if a, err := netip.ParseAddrPort(text); err == nil && name != "" {
			out[name] = a
		}
	}
	return out
}

// note says where the session of a target comes from; nil is that it has none that has to be called.
func (r *roll) note(target string, from net.Addr) {
	var at netip.AddrPort
	if udp, ok := from.(*net.UDPAddr); ok {
		at = udp.AddrPort()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.entries[target]; known == at || !known.IsValid() && len(r.entries) >= maxRoll {
		return
	}
	if at.IsValid() {
		r.entries[target] = at
	} else {
		delete(r.entries, target)
	}
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// run writes the file when there is something new. It does not when ctx ends: the sessions that end then are still the ones to call.
func (r *roll) run(ctx context.Context) {
	for {
		select {
		case <-r.dirty:
		case <-ctx.Done():
			return
		}
		if err := r.write(); err != nil {
			r.log.Warn("who is connected could not be noted; after a crash sites come back some seconds later", "err", err)
		}
		r.mu.Lock()
		n := len(r.entries)
		r.mu.Unlock()
		if !pause(ctx, rollDelay+time.Duration(n)*rollDelayPer) {
			return
		}
	}
}

func (r *roll) write() error {
	r.mu.Lock()
	entries := maps.Clone(r.entries)
	r.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		fmt.Fprintf(&b, "%s %s\n", name, entries[name])
	}
	if err := os.WriteFile(r.path+".new", []byte(b.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(r.path+".new", r.path)
}

// before returns who was connected before. They stay on the roll until they have come, or were called in vain. It is called once, before anybody comes.
func (r *roll) before() map[string]netip.AddrPort {
	waiting := r.load()
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.entries, waiting)
	return waiting
}

// call calls everybody who was connected before and has not come since.
func (r *roll) call(ctx context.Context, waiting map[string]netip.AddrPort, came func(target string) bool, wake func(to net.Addr, target string) error) {
	if len(waiting) == 0 {
		return
	}
	r.log.Info("calling the sites that were connected before", "sites", len(waiting))
	for _, after := range callAgain {
		if !pause(ctx, after) {
			return
		}
		names := slices.Collect(maps.Keys(waiting))
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			if came(name) {
				delete(waiting, name)
				continue
			}
			if err := wake(net.UDPAddrFromAddrPort(waiting[name]), name); err != nil {
				r.log.Debug("a site could not be called", "target", name, "err", err)
			}
			if !pause(ctx, callPace) {
				return
			}
		}
	}
	for name, at := range waiting {
		r.mu.Lock()
		lost := r.entries[name] == at
		r.mu.Unlock()
		if lost && !came(name) {
			r.note(name, nil)
		}
	}
}

// wakeSecret is what a target is called with; it is told to the target alone.
func wakeSecret(key [32]byte, target string) []byte {
	h := hmac.New(sha256.New, key[:])
	fmt.Fprintf(h, "skerry wake %s", target)
	return h.Sum(nil)[:16]
}
