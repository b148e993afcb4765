package share

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/response"
)

const (
	// maxBody is the largest body that the API server takes. Of a larger one this much is read, and
	// one byte.
	maxBody = 3 << 20
	// bodyTime is how long the body of a request may take to come.
	bodyTime = 30 * time.Second
	// bodyBytes bounds the bodies of a space's requests that have come and are not answered yet.
	bodyBytes = 64 << 20
	// bodyCost is what a body counts while it comes, in bytes: so a space waits for 512 at a time.
	bodyCost = 128 << 10
)

// bodies counts the bytes of bodies that are in memory, by space.
type bodies struct {
	mu sync.Mutex
	by map[string]int
}

// add counts n bytes more, or fewer. It reports false, and counts nothing, if that is more than a
// space may have.
func (b *bodies) add(space string, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && b.by[space]+n > bodyBytes {
		return false
	}
	if b.by == nil {
		b.by = map[string]int{}
	}
	if b.by[space] += n; b.by[space] == 0 {
		delete(b.by, space)
	}
	return true
}

// hasBody reports whether a handler would wait for the body of a request.
func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.Method != http.MethodGet && r.Method != http.MethodHead
}

// Body is the body of a request that has come before the request took a seat.
type Body struct {
	io.Reader
	io.Closer
	all []byte
}

// Bytes returns the whole body, or the first bytes of one that is too large. It is not to be changed.
func (b *Body) Bytes() []byte { return b.all }

// receive reads the body of a request, so that a client that sends slowly takes no seat from others.
// The caller calls free when the request is answered. The Status says why there is no body.
func (s *Limiter) receive(w http.ResponseWriter, r *http.Request, space string) (free func(), refused *metav1.Status) {
	counted := 0
	count := func(n int) bool {
		if !s.bodies.add(space, n) {
			return false
		}
		counted += n
		return true
	}
	free = func() { s.bodies.add(space, -counted) }
	tooMany := func() *metav1.Status {
		return response.TooManyRequests("space " + space + " sends too many large or slow requests side by side; send fewer")
	}
	if !count(bodyCost) {
		return free, tooMany()
	}
	inTime := unless(bodyTime, func() {
		// Where there are no deadlines, the request's own end ends the read.
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
	})
	all := make([]byte, 0, min(max(r.ContentLength, 511), 64<<10)+1)
	var err error
	for err == nil && len(all) <= maxBody {
		if len(all) == cap(all) {
			all = slices.Grow(all, len(all))
		}
		var n int
		n, err = r.Body.Read(all[len(all):min(cap(all), maxBody+1)])
		all = all[:len(all)+n]
		if more := len(all) - counted; more > 0 && !count(more) {
			inTime()
			return free, tooMany()
		}
	}
	count(len(all) - counted)
	if !inTime() {
		return free, response.Status(http.StatusRequestTimeout, metav1.StatusReasonTimeout,
			"the body of the request did not come within "+bodyTime.String()+"; send it again, over a faster connection")
	}
	rest := io.Reader(bytes.NewReader(all))
	switch {
	case err == nil:
		rest = io.MultiReader(rest, r.Body)
	case !errors.Is(err, io.EOF):
		rest = io.MultiReader(rest, failing{err})
	}
	r.Body = &Body{rest, r.Body, all}
	return free, nil
}

// failing is the end of a body that could not be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// unless calls late after a time, unless what it returns is called before, which reports that. It
// returns when late has returned, because nobody may use a ResponseWriter after the handler.
func unless(after time.Duration, late func()) (inTime func() bool) {
	done := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(done)
		late()
	})
	return func() bool {
		if timer.Stop() {
			return true
		}
		<-done
		return false
	}
}
