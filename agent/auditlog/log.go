package auditlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
)

// Bounds unless Options say otherwise: 6 MB on the disk.
const (
	defaultSize = 2 << 20
	oldFiles    = 2
	// batch is how many bytes wait in memory before they are written, most how many may.
	batch, most = 16 << 10, 64 << 10
	pause       = 10 * time.Second
)

// Options of a Log.
type Options struct {
	// Size in bytes at which the file is rotated; 0 means 2 MiB.
	Size int64
	Log  *slog.Logger
}

// Log is an audit log. Its methods may be called concurrently; Run writes the file.
type Log struct {
	path string
	size int64
	log  *slog.Logger
	full chan struct{} // holds one signal: a batch waits

	mu   sync.Mutex
	wait []byte
	lost int

	// Run's own.
	file    *os.File
	has     int64
	failing bool
}

// New returns a log that Run writes to path. Nothing is written yet.
func New(path string, o Options) *Log {
	if o.Size == 0 {
		o.Size = defaultSize
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{path: path, size: o.Size, log: o.Log, full: make(chan struct{}, 1)}
}

// line is what the log says of one write.
type line struct {
	Time      time.Time `json:"time"`
	Verb      string    `json:"verb"`
	Resource  string    `json:"resource"` // GROUP/VERSION/RESOURCE, or VERSION/RESOURCE
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	Space     string    `json:"space,omitempty"`
	// Code is the target's answer, 0 when there was none.
	Code   int    `json:"code"`
	Reason string `json:"reason,omitempty"`
	// User, at the center, has asked for a stream to the Pod.
	User      string `json:"user,omitempty"`
	Container string `json:"container,omitempty"`
	Command   string `json:"command,omitempty"`
	// Lost is how many lines before this one did not fit.
	Lost int `json:"lost,omitempty"`
}

// Note adds a line. It never waits for the disk.
func (l *Log) Note(w target.Written) {
	resource, ns, name := split(w.Path)
	entry := line{
		Time:      w.At.UTC().Truncate(time.Millisecond),
		Verb:      w.Verb,
		Resource:  resource,
		Namespace: ns,
		Name:      name,
		Space:     w.Space,
		Code:      w.Code,
		Reason:    w.Reason,
		User:      w.User,
		Container: w.Container,
		Command:   w.Command,
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry.Lost = l.lost
	text, err := json.Marshal(entry)
	if err != nil || len(l.wait)+len(text) >= most {
		l.lost++
		return
	}
	l.lost = 0
	l.wait = append(append(l.wait, text...), '\n')
	if len(l.wait) >= batch {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
}

// split takes the path of a request apart, as Kubernetes makes them.
func split(path string) (resource, ns, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		if plain, err := url.PathUnescape(p); err == nil {
			parts[i] = plain
		}
	}
	head := 2 // api/v1
	if parts[0] == "apis" {
		head = 3
	}
	if len(parts) <= head {
		return path, "", ""
	}
	group, rest := parts[1:head], parts[head:]
	if rest[0] == "namespaces" && len(rest) > 2 {
		ns, rest = rest[1], rest[2:]
	}
	if len(rest) > 1 {
		name = rest[1]
	}
	return strings.Join(append(group, rest[0]), "/"), ns, name
}

// Run writes the file until ctx ends, and then what is left.
func (l *Log) Run(ctx context.Context) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.flush()
			if l.file != nil {
				l.file.Close()
			}
			return nil
		case <-tick.C:
		case <-l.full:
		}
		l.flush()
	}
}

// flush writes what waits. A failure is logged once, and what could not be written is lost.
func (l *Log) flush() {
	l.mu.Lock()
	data := l.wait
	l.wait = nil
	l.mu.Unlock()
	if len(data) == 0 {
		return
	}
	err := l.write(data)
	if (err != nil) == l.failing {
		return
	}
	if l.failing = err != nil; l.failing {
		l.log.Warn("the audit log cannot be written; what it would say is lost", "path", l.path, "err", err)
	} else {
		l.log.Info("the audit log is written again", "path", l.path)
	}
}

func (l *Log) write(data []byte) (err error) {
	if l.file != nil && l.has > 0 && l.has+int64(len(data)) > l.size {
		if err := l.turn(); err != nil {
			return err
		}
	}
	if l.file == nil {
		if l.file, err = os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			l.file = nil
			return err
		}
		info, err := l.file.Stat()
		if err != nil {
			return err
		}
		l.has = info.Size()
	}
	n, err := l.file.Write(data)
	l.has += int64(n)
	return err
}

// turn puts the file aside and drops the oldest one.
func (l *Log) turn() error {
	err := l.file.Close()
	l.file = nil
	for i := oldFiles; i > 0; i-- {
		from := l.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", l.path, i-1)
		}
		if e := os.Rename(from, fmt.Sprintf("%s.%d", l.path, i)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}
