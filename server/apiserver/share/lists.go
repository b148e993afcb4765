package share

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/sync/semaphore"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/fair"
)

// What lists decode side by side, in bytes as they are stored. A list that is larger than a space may
// have goes alone in its space.
const (
	listsOfSpace = 16 << 20
	listsOfAll   = 128 << 20
	// listCost is how many bytes of memory a stored byte takes while it is listed: some ten as a rule,
	// and this of an object of nothing but small fields.
	listCost = 96
	// smallList is up to how many bytes a list counts for nothing.
	smallList = 256 << 10
	// listsWaiting is how many lists of a space may wait.
	listsWaiting = 100
)

// lists bounds the memory of lists that are decoded from the store. A list that has to wait takes no
// seat meanwhile.
type lists struct {
	ofAll, ofSpace int64 // bytes as they are stored
	all            *semaphore.Weighted

	mu sync.Mutex
	by map[string]*spaceLists
}

// spaceLists are the lists of one space that are being answered, or wait.
type spaceLists struct {
	bytes   *semaphore.Weighted
	users   int
	waiting int
}

// newLists returns lists of a process that may use so much memory, in bytes: side by side they take half of
// it in the worst case.
func newLists(memory int64) *lists {
	ofAll := min(listsOfAll, memory/2/listCost)
	return &lists{ofAll: ofAll, ofSpace: min(listsOfSpace, ofAll/2), all: semaphore.NewWeighted(ofAll),
		by: map[string]*spaceLists{}}
}

// take returns when a list of so many bytes may be answered. The caller calls leave when it is. The
// error is fair.ErrFull, or that of ctx.
func (l *lists) take(ctx context.Context, space string, bytes int64) (leave func(), err error) {
	l.mu.Lock()
	s := l.by[space]
	if s == nil {
		s = &spaceLists{bytes: semaphore.NewWeighted(l.ofSpace)}
		l.by[space] = s
	}
	if s.waiting >= listsWaiting {
		l.mu.Unlock()
		return nil, fair.ErrFull
	}
	s.users++
	s.waiting++
	l.mu.Unlock()

	ofSpace, ofAll := min(bytes, l.ofSpace), min(bytes, l.ofAll)
	if err = s.bytes.Acquire(ctx, ofSpace); err == nil {
		if err = l.all.Acquire(ctx, ofAll); err != nil {
			s.bytes.Release(ofSpace)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.waiting--
	if err != nil {
		l.leftLocked(space, s)
		return nil, err
	}
	return func() {
		s.bytes.Release(ofSpace)
		l.all.Release(ofAll)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.leftLocked(space, s)
	}, nil
}

func (l *lists) leftLocked(space string, s *spaceLists) {
	if s.users--; s.users == 0 {
		delete(l.by, space)
	}
}

// decodes returns how many bytes a request has decoded from the store, 0 where that is little.
func (s *Limiter) decodes(r *http.Request, info *apirequest.RequestInfo, space string) int64 {
	if !info.IsResourceRequest || info.Name != "" || info.Subresource != "" ||
		info.Verb != "list" && info.Verb != "deletecollection" {
		return 0
	}
	objects, bytes := s.usage.Listed(space, info.APIGroup, info.Resource)
	page, err := strconv.ParseInt(r.URL.Query().Get("limit"), 10, 64)
	if err == nil && page > 0 && page < objects && info.Verb == "list" {
		bytes = bytes / objects * page
	}
	if bytes <= smallList {
		return 0
	}
	return bytes
}
