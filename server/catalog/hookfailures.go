package catalog

import (
	"sync"

	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/store"
)

// HookFailure is how an attempt has failed, and what it ran.
type HookFailure struct {
	Text   string
	Space  string
	Of     binding.Ref
	Source store.Key // the CronJob or the Service, see hookSource
	Ran    string    // see hookRuns; as it was when the attempt began
}

// HookFailures are how the last attempts have failed whose hooks are waited for, by the key of a leaving.
type HookFailures struct {
	mu    sync.Mutex
	known map[string]HookFailure
}

func newHookFailures() *HookFailures { return &HookFailures{known: map[string]HookFailure{}} }

// Remember keeps how an attempt has failed.
func (h *HookFailures) Remember(a Attempt, f HookFailure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[a.Key()] = f
}

// Of returns how the last attempt of a leaving has failed.
func (h *HookFailures) Of(key string) (f HookFailure, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, known = h.known[key]
	return f, known
}

// by are the failures of hooks that run what an object says.
func (h *HookFailures) by(k store.Key) (out []HookFailure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.known {
		if f.Source == k {
			out = append(out, f)
		}
	}
	return out
}

// Forget forgets the failures of a leaving.
func (h *HookFailures) Forget(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.known, key)
}

// Count is how many leavings wait after a failure.
func (h *HookFailures) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.known)
}
