package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/agent/goroutines"
	"skerry.dev/skerry/agent/uplink"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// StatusFile is where an agent says what only it knows, in its data directory. It is for `skerry
// doctor`; the agent itself never reads it, and it may be lost.
const StatusFile = "status.json"

// Status is what an agent said of itself.
type Status struct {
	// At is when it was written. Running is false after an ordinary end.
	At      time.Time `json:"at"`
	Running bool      `json:"running"`
	Process int       `json:"process"`
	Version string    `json:"version"`
	// Connected is since when the agent has a session; nil while it has none.
	Connected *time.Time `json:"connected,omitempty"`
	// Transport and Address are those of the last session.
	Transport string `json:"transport,omitempty"`
	Address   string `json:"address,omitempty"`
	// Ended is why the last session has ended.
	Ended string `json:"ended,omitempty"`
	// Replaced are the last times, at most 4, that another agent with this site's identity has taken
	// the session over.
	Replaced []time.Time `json:"replaced,omitempty"`
	// Conditions and Withheld are what the site reports to its parent about itself.
	Conditions []tunnel.Condition `json:"conditions,omitempty"`
	Withheld   *tunnel.Withheld   `json:"withheld,omitempty"`
}

// maxStatusBytes bounds what is read of the file.
const maxStatusBytes = 1 << 20

// ReadStatus reads what the agent of a data directory said last. It returns fs.ErrNotExist, wrapped,
// when no agent has run there.
func ReadStatus(dir string) (*Status, error) {
	f, err := os.Open(filepath.Join(dir, StatusFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStatusBytes))
	if err != nil {
		return nil, err
	}
	s := &Status{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return s, nil
}

// statusGap is how long at least lies between two writes of the file.
const statusGap = 2 * time.Second

// maxReplaced bounds Status.Replaced.
const maxReplaced = 4

// statusFile keeps the file as things are. It is written rarely, and not made durable: a crash of
// the machine may lose it.
type statusFile struct {
	mu      sync.Mutex
	now     Status
	changed chan struct{} // one slot
}

func newStatusFile(version string) *statusFile {
	return &statusFile{
		now:     Status{Running: true, Process: os.Getpid(), Version: version},
		changed: make(chan struct{}, 1),
	}
}

// session records that a session was let in, or why it has ended.
func (s *statusFile) session(way uplink.Route, open bool, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().UTC().Truncate(time.Second)
	if open {
		s.now.Connected, s.now.Transport, s.now.Address = &now, way.Transport, way.Address
	} else {
		if s.now.Connected = nil; why != nil {
			s.now.Ended = why.Error()
		}
		if errors.Is(why, tunnel.ErrReplaced) {
			s.now.Replaced = append(slices.Clone(s.now.Replaced), now)
			s.now.Replaced = s.now.Replaced[max(0, len(s.now.Replaced)-maxReplaced):]
		}
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// write writes the file with what the site reports.
func (s *statusFile) write(dir string, running bool, said tunnel.ChildStatus) error {
	s.mu.Lock()
	out := s.now
	s.mu.Unlock()
	out.At, out.Running = time.Now().UTC().Truncate(time.Second), running
	out.Conditions, out.Withheld = said.Conditions, said.Withheld
	if !running {
		out.Connected = nil
	}
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, StatusFile), data)
}

// diskRefuses reports whether the site says that its disk takes no writes. Then the file is left
// alone: whoever takes space, or gives some back, changes what the store meets at its next try.
func diskRefuses(said tunnel.ChildStatus) bool {
	return slices.ContainsFunc(said.Conditions, func(c tunnel.Condition) bool {
		return c.Type == tunnel.StoreHealthy && c.Reason == reasonDiskRefuses
	})
}

// runStatus keeps the file until ctx ends.
func (a *agent) runStatus(ctx context.Context) {
	for {
		ended := ctx.Err() != nil
		said, changed := a.conditions.All()
		if !diskRefuses(said) {
			if err := a.status.write(a.DataDir, !ended, said); err != nil {
				a.Log.Debug("the status file could not be written", "err", err)
			}
		}
		if ended {
			return
		}
		ondemand.Pause(ctx, statusGap)
		select {
		case <-changed:
		case <-a.status.changed:
		case <-ctx.Done():
		}
	}
}

// tellGoroutines lets who helps see what this process does, until ctx ends.
func (a *agent) tellGoroutines(ctx context.Context) {
	if err := goroutines.Serve(ctx, a.DataDir); err != nil {
		a.Log.Warn("skerry support-bundle cannot have the goroutines of this agent", "err", err)
	}
}
