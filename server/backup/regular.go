package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/server/backup/schedule"
)

// Plan is what a center backs up by itself. Its zero value is nothing.
type Plan struct {
	To       destination.Destination
	Schedule schedule.Schedule
	Keep     schedule.Retention
}

// RegularConfig is what New needs.
type RegularConfig struct {
	Plan
	// Center is the incarnation of the data, as String writes it.
	Center string
	// Take makes a backup as the new file at path.
	Take func(ctx context.Context, path string) (Manifest, error)
	// Database is the name of the database's file in a backup.
	Database string
	// Scratch is a directory for the file while it is written, where the destination has none.
	Scratch string
	// Room returns an error if the disk of a directory has no room for a backup.
	Room func(ctx context.Context, dir string) error
	// Leads reports whether this replica may write now; nil means always.
	Leads func() bool
	Log   *slog.Logger
}

// Regular takes backups by a schedule and removes those that have had their day. One that fails is
// tried again, after a minute at first and then less often.
type Regular struct {
	cfg RegularConfig

	mu       sync.Mutex
	running  bool
	last     time.Time // when the newest backup was made; zero if there is none
	size     int64     // of that, in bytes
	failures int
}

const (
	// firstRetry and lastRetry bound the time until a backup that failed is tried again.
	firstRetry = time.Minute
	lastRetry  = 30 * time.Minute
	// longestBackup is how long one backup may take.
	longestBackup = 6 * time.Hour
	// wake is how often a wait looks at the clock: it may be set, and a machine may sleep.
	wake = time.Minute
)

// NewRegular returns what takes backups once Run runs.
func NewRegular(c RegularConfig) *Regular { return &Regular{cfg: c} }

// errNotLeading is why a backup of a replica that leads no more is not stored.
var errNotLeading = errors.New("this replica does not lead any more; the one that does takes the backups")

// Run takes backups until ctx ends.
func (r *Regular) Run(ctx context.Context) error {
	r.mu.Lock()
	r.running = true
	r.mu.Unlock()
	known, retry := false, firstRetry
	for ctx.Err() == nil {
		err := r.step(ctx, &known)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			retry = firstRetry
			continue
		}
		r.failed(err, retry)
		waitUntil(ctx, time.Now().Add(retry))
		retry = min(2*retry, lastRetry)
	}
	return nil
}

// step waits for the next backup and takes it. At first it looks for the newest one that is there.
func (r *Regular) step(ctx context.Context, known *bool) error {
	if !*known {
		if err := r.look(ctx); err != nil {
			return fmt.Errorf("look for the newest backup: %w", err)
		}
		*known = true
	}
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if !waitUntil(ctx, r.cfg.Schedule.Due(last, time.Now())) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, longestBackup)
	defer cancel()
	return r.once(ctx)
}

// waitUntil waits for a time of the wall clock. It reports false when ctx is done first.
func waitUntil(ctx context.Context, due time.Time) bool {
	for {
		left := time.Until(due.Round(0)) // by the wall clock
		if left <= 0 {
			return ctx.Err() == nil
		}
		select {
		case <-time.After(min(left, wake)):
		case <-ctx.Done():
			return false
		}
	}
}

// look notes the newest backup of this center that the destination has.
func (r *Regular) look(ctx context.Context) error {
	ours, err := r.ours(ctx)
	if err != nil || len(ours) == 0 {
		return err
	}
	newest := ours[len(ours)-1]
	r.succeeded(newest.Made, newest.Size)
	return nil
}

// ours are the backups of this center, oldest first.
func (r *Regular) ours(ctx context.Context) (ours []destination.Stored, err error) {
	all, err := r.cfg.To.List(ctx)
	for _, b := range all {
		if b.Center == r.cfg.Center {
			ours = append(ours, b)
		}
	}
	return ours, err
}

// once takes a backup, stores it, and removes what has had its day.
func (r *Regular) once(ctx context.Context) (err error) {
	dir := filepath.Join(cmp.Or(r.cfg.To.Staging(), r.cfg.Scratch), ".skerry-backup-"+r.cfg.Center)
	if err := os.RemoveAll(dir); err != nil { // of a center that was killed
		return destination.Explain(dir, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return destination.Explain(filepath.Dir(dir), err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.cfg.Room(ctx, dir); err != nil {
		return err
	}
	file := filepath.Join(dir, "backup")
	begun := time.Now()
	m, err := r.cfg.Take(ctx, file)
	if err != nil {
		return destination.Explain(filepath.Dir(dir), err)
	}
	if _, err := Verify(ctx, file, r.cfg.Database); err != nil {
		return fmt.Errorf("read the backup again: %w", err)
	}
	if r.cfg.Leads != nil && !r.cfg.Leads() {
		return errNotLeading
	}
	name := destination.Name{Center: r.cfg.Center, Made: m.Made}
	if err := r.cfg.To.Put(ctx, name, file); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	r.succeeded(m.Made, info.Size())
	r.cfg.Log.Info("a backup was taken", "backup", name.String(), "to", r.cfg.To.String(), "revision", m.Revision,
		"bytes", info.Size(), "took", time.Since(begun).Round(time.Millisecond))
	if !m.HasKeys && len(m.Encryption) > 0 {
		r.cfg.Log.Warn("the backup is worth nothing without the keys that encrypt its Secrets, which are not in it; "+
			"keep them, too", "keys", m.Encryption)
	}
	r.prune(ctx, name)
	return nil
}

// prune removes the backups that are not kept, if the newest one is listed. Those that it cannot
// remove stay until the next time.
func (r *Regular) prune(ctx context.Context, newest destination.Name) {
	ours, err := r.ours(ctx)
	if err == nil && (len(ours) == 0 || ours[len(ours)-1].Name != newest) {
		err = errors.New("the newest backup is not listed")
	}
	var made []time.Time
	for _, b := range ours {
		made = append(made, b.Made)
	}
	if err == nil {
		for _, i := range r.cfg.Keep.Expired(made, newest.Made) {
			if err = r.cfg.To.Remove(ctx, ours[i].Name); err != nil {
				break
			}
			r.cfg.Log.Info("an old backup was removed", "backup", ours[i].String())
		}
	}
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("old backups are kept for longer; the next backup tries again to remove them", "err", err)
	}
}

func (r *Regular) succeeded(made time.Time, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.size = made, size
}

func (r *Regular) failed(err error, retry time.Duration) {
	r.mu.Lock()
	r.failures++
	last := r.last
	r.mu.Unlock()
	newest := "none"
	if !last.IsZero() {
		newest = last.Format(time.RFC3339)
	}
	r.cfg.Log.Error("no backup could be taken; it is tried again", "to", r.cfg.To.String(), "newest", newest,
		"retryIn", retry, "err", err)
}
