package kine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TroubleKind is what is wrong with the storage below a database.
type TroubleKind string

// The kinds of trouble. They are the values of a metric's label.
const (
	// Full: the disk has no space.
	Full TroubleKind = "full"
	// Damaged: the database's file is not what was written.
	Damaged TroubleKind = "damaged"
	// ReadOnly: the file, or its disk, cannot be written.
	ReadOnly TroubleKind = "read-only"
	// Broken: the disk fails.
	Broken TroubleKind = "broken"
)

// Trouble is returned when the storage below a database refuses a read or a write. Its text says
// what to do.
type Trouble struct {
	Kind TroubleKind
	text string
	err  error
}

// Error says what is wrong, what to do, and in the end what the database said.
func (t *Trouble) Error() string { return t.text }

// Unwrap returns what the database said.
func (t *Trouble) Unwrap() error { return t.err }

// GRPCStatus is what a client over a connection is told.
func (t *Trouble) GRPCStatus() *status.Status {
	if t.Kind == Damaged {
		return status.New(codes.DataLoss, t.text)
	}
	return status.New(codes.Unavailable, t.text)
}

// scarce is the free space below which an I/O error counts as a full disk: SQLite reports a full
// disk so when it extends a file that it has mapped.
const scarce = 1 << 20

// etcdFull is what etcd says when its database has reached its quota.
const etcdFull = "mvcc: database space exceeded"

// etcdQuota is the cause and the next step of it.
const etcdQuota = "the etcd cluster's database has reached its quota: nothing can be written until there is space; " +
	"on each member run etcdctl defrag, or raise --quota-backend-bytes, and then etcdctl alarm disarm"

// said are SQLite's words of each kind of trouble.
var said = []struct {
	words string
	kind  TroubleKind
}{
	{"database or disk is full", Full}, {"no space left on device", Full},
	{"disk quota exceeded", Full}, {etcdFull, Full},
	{"disk image is malformed", Damaged}, {"file is not a database", Damaged},
	{"readonly database", ReadOnly}, {"read-only file system", ReadOnly},
	{"unable to open database file", ReadOnly},
	{"disk I/O error", Broken},
}

// troubleOf returns the Trouble that an error of the database in dir is, nil for another error.
func troubleOf(dir string, err error) *Trouble {
	var known *Trouble
	if err == nil || errors.As(err, &known) {
		return known
	}
	for _, s := range said {
		if !strings.Contains(err.Error(), s.words) {
			continue
		}
		kind := s.kind
		if free, ok := Free(dir); kind != Damaged && ok && free < scarce {
			kind = Full
		}
		text := advice(kind, dir)
		if s.words == etcdFull {
			text = etcdQuota
		}
		return &Trouble{kind, text + " (" + err.Error() + ")", err}
	}
	return nil
}

// brief are the kinds in words, where the directory is not known.
var brief = map[TroubleKind]string{Full: "the disk is full", Damaged: "the database is damaged",
	ReadOnly: "the database cannot be written",
	Broken:   "the disk is full, or fails"}

// advice returns the cause and the next step. A shared database has no directory.
func advice(kind TroubleKind, dir string) string {
	if dir == "" {
		return "the center's datastore does not do what is asked: " + brief[kind]
	}
	path := filepath.Join(dir, FileName)
	switch kind {
	case Full:
		return fmt.Sprintf("the center's disk is full: nothing can be written until there is "+
			"space in %s; what is there is kept, and read", dir)
	case Damaged:
		return fmt.Sprintf("the center's database %s is damaged: stop the center, keep the "+
			"directory %s, and make a new one of a backup: "+
			"skerry center restore FILE --data-dir DIR", path, dir)
	case ReadOnly:
		return fmt.Sprintf("the center's database %s cannot be written: see who owns the file "+
			"and how its disk is mounted", path)
	default:
		return fmt.Sprintf("the disk below the center's database %s fails: see the kernel's log "+
			"(dmesg) and the disk's health", path)
	}
}

// logPause is how often trouble that goes on is logged.
const logPause = time.Minute

// troubles has the last trouble of a database, and counts all.
type troubles struct {
	dir string // "" where several replicas share a datastore
	log *slog.Logger

	mu      sync.Mutex
	last    *Trouble
	commits int64     // how many transactions were durable then
	logged  time.Time // when it was said last
	counts  map[TroubleKind]int
}

// note returns the error as its client is told it, and records it. commits is how many transactions
// were made durable so far.
func (t *troubles) note(err error, commits int64) error {
	trouble := troubleOf(t.dir, err)
	if trouble == nil {
		return err
	}
	if t.record(trouble, commits) {
		t.log.Error("the storage of the center does not do what is asked", "err", trouble)
	}
	return trouble
}

// record stores a trouble as the last one, and reports whether it is to be logged: it is new, or
// was logged long ago.
func (t *troubles) record(trouble *Trouble, commits int64) (say bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[TroubleKind]int{}
	}
	t.counts[trouble.Kind]++
	now := time.Now()
	say = t.last == nil || t.last.Kind != trouble.Kind || now.Sub(t.logged) >= logPause
	if say {
		t.logged = now
	}
	t.last, t.commits = trouble, commits
	return say
}

// Health returns the trouble that the storage has. It is over when something is written. It is nil
// for a shared database.
func (s *Store) Health() error {
	if s.file == nil {
		return nil
	}
	t := s.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || t.last.Kind != Damaged && s.file.commits() > t.commits {
		return nil
	}
	return t.last
}

// Troubles returns how many errors of the storage there were, by kind.
func (s *Store) Troubles() map[TroubleKind]int {
	out := map[TroubleKind]int{Full: 0, Damaged: 0, ReadOnly: 0, Broken: 0}
	s.troubles.mu.Lock()
	defer s.troubles.mu.Unlock()
	for kind, n := range s.troubles.counts {
		out[kind] = n
	}
	return out
}
