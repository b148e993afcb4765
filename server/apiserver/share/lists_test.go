package share

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/fair"
)

// large is the usage of spaces whose lists have 1,000 objects and many bytes.
type large struct {
	noQuota
	bytes int64
}

func (l large) Listed(string, string, string) (objects, bytes int64) { return 1000, l.bytes }

// TestLargeListsGoOneByOne: a space lists all at once what it has much of. It takes neither the memory
// nor the seats of others, who list meanwhile.
func TestLargeListsGoOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, done atomic.Int32
		limiter := New(large{bytes: listsOfSpace / 2}, fair.New(100, 100), nil)
		p := serve(t, limiter, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				io.Copy(w, r.Body)
				return
			}
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(100 * time.Millisecond)
			now.Add(-1)
			done.Add(1)
		})
		get := func(space string) (code int, waited time.Duration) {
			conn := p.dial()
			defer conn.Close()
			began := time.Now()
			go fmt.Fprintf(conn, "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", space)
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Error(err)
				return 0, 0
			}
			return answer.StatusCode, time.Since(began)
		}
		for range 40 {
			go get("eve")
		}
		synctest.Wait()
		if code, waited := get("shop"); code != http.StatusOK || waited > 100*time.Millisecond {
			t.Errorf("a list of another space: %d after %v", code, waited)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most.Load() > 3 || done.Load() != 41 {
			t.Errorf("%d side by side, %d answered", most.Load(), done.Load())
		}
		if len(limiter.lists.by) > 0 {
			t.Errorf("%v", limiter.lists.by)
		}
	})
}

// TestListsThatWait: their number and time are bounded, and all of what a list takes is given back.
func TestListsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLists(math.MaxInt64)
		leave, err := l.take(t.Context(), "eve", 10*listsOfAll) // more than there is goes alone
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gone := make(chan error, listsWaiting)
		for range listsWaiting {
			go func() {
				_, err := l.take(short, "eve", 1)
				gone <- err
			}()
		}
		synctest.Wait()
		if _, err := l.take(short, "eve", 1); !errors.Is(err, fair.ErrFull) {
			t.Errorf("one more: %v", err)
		}
		if _, err := l.take(short, "shop", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a list of another space, while one takes all: %v", err)
		}
		for range listsWaiting {
			if err := <-gone; !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		leave()
		if len(l.by) > 0 || !l.all.TryAcquire(listsOfAll) {
			t.Errorf("%v", l.by)
		}
	})
}

// TestWhatAListDecodes: a page counts as a page, and what is small not at all.
func TestWhatAListDecodes(t *testing.T) {
	list := apirequest.RequestInfo{IsResourceRequest: true, Verb: "list", Resource: "widgets"}
	all, one, get, status := list, list, list, list
	all.Verb, get.Verb, one.Name, status.Subresource = "deletecollection", "get", "a", "status"
	for i, c := range []struct {
		info  apirequest.RequestInfo
		query string
		want  int64
	}{
		{list, "", 1 << 30}, {list, "?limit=500", 1 << 30 / 1000 * 500}, {list, "?limit=0", 1 << 30},
		{list, "?limit=-1", 1 << 30},
		{list, "?limit=2000", 1 << 30}, {all, "?limit=1", 1 << 30}, {get, "", 0}, {one, "", 0}, {status, "", 0},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/"+c.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := New(large{bytes: 1 << 30}, nil, nil).decodes(r, &c.info, "shop"); got != c.want {
			t.Errorf("case %d: %d bytes", i, got)
		}
		if got := New(large{bytes: smallList}, nil, nil).decodes(r, &c.info, "shop"); got != 0 {
			t.Errorf("case %d: %d bytes of a small one", i, got)
		}
	}
}
