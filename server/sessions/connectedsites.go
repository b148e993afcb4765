package sessions

import (
	"bufio"
	"bytes"
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

	"skerry.dev/skerry/tunnel/ondemand"
)

// connectedSites is who has a session over QUIC and from where, kept in a file, so that a center
// that was killed can call its sites: one that has nothing to say would notice only at its next
// heartbeat. It is a hint and nothing more: it is not synced, so that only the end of the machine
// takes what was written, what cannot be read is left out, and losing it costs seconds.
//
// A line of the file is a name and an address, or a name and noAddress; the last of a name counts.
// What is new is appended, all that came while the file was written before in one write, and a file
// of which most is old is written anew.
type connectedSites struct {
	path string
	log  *slog.Logger

	mu         sync.Mutex
	entries    map[string]netip.AddrPort
	changes    []byte        // lines that the file does not have yet
	recorded   int           // how many changes there were
	written    int           // how many of them the file has, or could not be given
	rewriteDue chan struct{} // closed, and another made, when written grows
	dirty      chan struct{}

	// What follows is of run alone.
	lines   int  // in the file; 0 when it is not known to be this process's, or whole
	failing bool // the last write failed
}

const (
	// maxRoll bounds the roll, in memory and in the file.
	maxRoll = 50_000
	// oldLines are how many lines more than two for each entry the file may have.
	oldLines = 1000
	// rollPatience is how long a site waits at most for its line: a disk that does not answer keeps
	// nobody out.
	rollPatience = time.Second
	// callPace is how long the center waits between two calls: a site that was called comes with a
	// handshake.
	callPace = 4 * time.Millisecond
	// maxRollLine is a name, an address and a space.
	maxRollLine = 128
	// noAddress stands for the address of a target that has no session to be called.
	noAddress = "-"
)

// callAgain is how long after the call before it sites that have not come are called again: a
// datagram may be lost, and a link that was down when the center died may come back later than the
// center. They are called for half a minute, ever more seldom.
var callAgain = []time.Duration{
	0,
	700 * time.Millisecond,
	800 * time.Millisecond,
	time.Second,
	1500 * time.Millisecond,
	2 * time.Second,
	3 * time.Second,
	4 * time.Second,
	6 * time.Second,
	9 * time.Second,
}

func newConnectedSites(path string, log *slog.Logger) *connectedSites {
	return &connectedSites{
		path:       path,
		log:        log,
		entries:    map[string]netip.AddrPort{},
		rewriteDue: make(chan struct{}),
		dirty:      make(chan struct{}, 1),
	}
}

// load returns what the file says.
func (r *connectedSites) load() map[string]netip.AddrPort {
	out := map[string]netip.AddrPort{}
	f, err := os.Open(r.path)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			r.log.Debug("who was connected before is not known", "err", err)
		}
		return out
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, (2*maxRoll+oldLines)*maxRollLine))
	lines.Buffer(make([]byte, maxRollLine), maxRollLine)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if text == noAddress {
			delete(out, name)
		} else if a, err := netip.ParseAddrPort(text); err == nil && name != "" && len(out) < maxRoll {
			out[name] = a
		}
	}
	return out
}

// record says where the session of a target comes from; nil is that it has none that has to be
// called.
func (r *connectedSites) record(target string, from net.Addr) {
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
	r.changes = appendLine(r.changes, target, at)
	r.recorded++
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

func appendLine(to []byte, target string, at netip.AddrPort) []byte {
	to = append(append(to, target...), ' ')
	if at.IsValid() {
		to = at.AppendTo(to)
	} else {
		to = append(to, noAddress...)
	}
	return append(to, '\n')
}

// wait returns when the file has what was noted before, or was to have it and could not.
func (r *connectedSites) wait(ctx context.Context) {
	patience := time.NewTimer(rollPatience)
	defer patience.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for upTo := r.recorded; r.written < upTo; {
		turn := r.rewriteDue
		r.mu.Unlock()
		select {
		case <-turn:
		case <-patience.C:
			upTo = 0
		case <-ctx.Done():
			upTo = 0
		}
		r.mu.Lock()
	}
}

// run writes what is new to the file. It does not when ctx has ended: the sessions that end then
// are still the ones to call.
func (r *connectedSites) run(ctx context.Context) {
	for {
		select {
		case <-r.dirty:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		err := r.write()
		if err != nil && !r.failing {
			r.log.Warn(
				"who is connected could not be noted; after a crash sites come back some seconds later",
				"err",
				err,
			)
		}
		r.failing = err != nil
	}
}

// write appends what is new, or writes all anew when most of the file is old, is not known, or
// cannot be appended to.
func (r *connectedSites) write() error {
	r.mu.Lock()
	upTo, news, all := r.recorded, r.changes, len(r.entries)
	more := bytes.Count(news, []byte{'\n'})
	whole := r.lines == 0 || r.lines+more > 2*all+oldLines
	r.changes = nil
	r.mu.Unlock()
	var err error
	if !whole {
		err = r.extend(news)
		r.lines += more
	}
	if whole || err != nil {
		r.lines, err = r.rewrite()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written = upTo
	close(r.rewriteDue)
	r.rewriteDue = make(chan struct{})
	return err
}

func (r *connectedSites) extend(news []byte) error {
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(news)
	return errors.Join(err, f.Close())
}

// rewrite writes all entries and returns how many lines that are; 0 when it failed.
func (r *connectedSites) rewrite() (lines int, err error) {
	r.mu.Lock()
	entries := maps.Clone(r.entries)
	r.mu.Unlock()
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		b = appendLine(b, name, entries[name])
	}
	if err := os.WriteFile(r.path+".new", b, 0o600); err != nil {
		return 0, err
	}
	return len(entries), os.Rename(r.path+".new", r.path)
}

// before returns who was connected before. They stay on the roll until they have come, or were
// called in vain. It is called once, before anybody comes.
func (r *connectedSites) before() map[string]netip.AddrPort {
	waiting := r.load()
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.entries, waiting)
	return waiting
}

// wakeMissing calls everybody who was connected before and has not come since.
func (r *connectedSites) wakeMissing(
	ctx context.Context,
	waiting map[string]netip.AddrPort,
	came func(target string) bool,
	wake func(to net.Addr, target string) error,
) {
	if len(waiting) == 0 {
		return
	}
	r.log.Info("calling the sites that were connected before", "sites", len(waiting))
	for _, after := range callAgain {
		if !ondemand.Pause(ctx, after) {
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
			if !ondemand.Pause(ctx, callPace) {
				return
			}
		}
	}
	for name, at := range waiting {
		r.mu.Lock()
		lost := r.entries[name] == at
		r.mu.Unlock()
		if lost && !came(name) {
			r.record(name, nil)
		}
	}
}

// wakeSecret is what a target is called with; it is told to the target alone.
func wakeSecret(key [32]byte, target string) []byte {
	h := hmac.New(sha256.New, key[:])
	fmt.Fprintf(h, "skerry wake %s", target)
	return h.Sum(nil)[:16]
}
