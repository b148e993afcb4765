package streams

import (
	"sync"
	"time"
)

// asked is a port of a Service, as a parent asks for it.
type asked struct{ space, spaceUID, namespace, service, uid, port string }

// found is what was found of Services a moment ago: an application makes many connections at a time. The zero
// value has nothing; its methods may be called concurrently.
type found struct {
	mu  sync.Mutex
	was map[asked]finding
}

type finding struct {
	at       time.Time
	backends []backend
}

const (
	// foundTime is for how long a finding is believed.
	foundTime = time.Second
	// mostFound bounds how many there are.
	mostFound = 1024
)

// get returns the Pods of a Service, nil where they are not known.
func (f *found) get(k asked) []backend {
	f.mu.Lock()
	defer f.mu.Unlock()
	if is, known := f.was[k]; known && time.Since(is.at) < foundTime {
		return is.backends
	}
	return nil
}

// put notes them.
func (f *found) put(k asked, backends []backend) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.was == nil || len(f.was) >= mostFound {
		f.was = map[asked]finding{}
	}
	f.was[k] = finding{time.Now(), backends}
}
