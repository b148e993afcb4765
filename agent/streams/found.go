package streams

import (
	"context"
	"slices"
	"sync"
	"time"
)

// asked is a port of a Service, as a parent asks for it.
type asked struct{ space, spaceUID, namespace, service, uid, port string }

// found is what was found of Services a moment ago: an application makes many connections at a time. The zero
// value has nothing; its methods may be called concurrently.
type found struct {
	mu       sync.Mutex
	was      map[asked]finding
	searches map[asked]*search
}

type finding struct {
	at time.Time
	serving
}

// serving is what answers for a port of a Service, and the policies of its namespace.
type serving struct {
	affinity time.Duration // for how long callers come back to the same Pod, 0 where they need not
	backends []backend
	policies policies
}

// of are those that have a host name, or all, as a copy.
func (s serving) of(host string) []backend {
	return slices.DeleteFunc(slices.Clone(s.backends), func(b backend) bool { return host != "" && b.host != host })
}

const (
	// foundTime is for how long a finding is believed.
	foundTime = time.Second
	// mostFound bounds how many there are.
	mostFound = 1024
)

// get returns what is known of a Service.
func (f *found) get(k asked) (serving, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is, known := f.was[k]
	return is.serving, known && time.Since(is.at) < foundTime
}

// put notes it.
func (f *found) put(k asked, is serving) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.was == nil || len(f.was) >= mostFound {
		f.was = map[asked]finding{}
	}
	f.was[k] = finding{time.Now(), is}
}

// search is one that goes on.
type search struct {
	ended chan struct{}
	is    serving
	err   error
	cut   bool // the caller that searched has gone
}

// share has one caller at a time search for a Service; those that come meanwhile get what it finds. While a
// Service has no ready Pod each call of it would read it anew.
func (f *found) share(ctx context.Context, k asked, find func() (serving, error)) (serving, error) {
	for {
		f.mu.Lock()
		other := f.searches[k]
		if other == nil {
			break
		}
		f.mu.Unlock()
		select {
		case <-other.ended:
		case <-ctx.Done():
			return serving{}, context.Cause(ctx)
		}
		if !other.cut {
			return other.is, other.err
		}
	}
	mine := &search{ended: make(chan struct{})}
	if f.searches == nil {
		f.searches = map[asked]*search{}
	}
	f.searches[k] = mine
	f.mu.Unlock()
	mine.is, mine.err = find()
	mine.cut = ctx.Err() != nil
	if mine.err == nil {
		f.put(k, mine.is)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.searches, k)
	close(mine.ended)
	return mine.is, mine.err
}
