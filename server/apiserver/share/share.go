package share

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/backlog"
	"skerry.dev/skerry/server/apiserver/fair"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

const (
	// DefaultSeats is how many requests from outside are answered side by side, watches left out:
	// most of them wait for the disk.
	DefaultSeats = 200
	// maxWait is how long a request waits for a seat.
	maxWait = 15 * time.Second
)

// Limiter keeps a space from taking the server away from others: the rate of Space.spec.quota, a
// seat for each request, and for watches their number and the bytes that they have not sent.
type Limiter struct {
	Usage   Usage
	Seats   *fair.Scheduler
	Backlog *backlog.Ledger
	streams openStreams
}

// Usage says what the quota of a space leaves it.
type Usage interface {
	// Admit returns nil for a request that is within the rate of its space, and otherwise what to
	// answer.
	Admit(space string) *metav1.Status
	// Watches returns how many watches a space may have open, and whether its quota says so.
	Watches(space string) (most int, limited bool)
}

// Wrap returns a handler that lets h answer what is within the limits, and refuses the rest with
// 429.
func (s *Limiter) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.FromCenter(r.Context()) || isProbe(r.URL.Path) {
			h.ServeHTTP(w, r)
			return
		}
		space := request.Space(r.Context())
		if refused := s.Usage.Admit(space); refused != nil {
			response.WriteTooMany(w, refused)
			return
		}
		wait, cancel := context.WithTimeout(r.Context(), maxWait)
		leave, err := s.Seats.Take(wait, space)
		cancel()
		if err != nil {
			why := "the center is busy: the request has waited too long for its turn"
			if errors.Is(err, fair.ErrFull) {
				why = "space " + space + " has too many requests waiting; make fewer side by side"
			}
			response.WriteTooMany(w, response.TooManyRequests(why))
			return
		}
		defer leave()
		if info, ok := apirequest.RequestInfoFrom(r.Context()); ok && info.Resource == "pods" {
			if r = response.WithWriter(w, r); isStream(info) {
				s.stream(w, r, h, leave)
				return
			}
		}
		if info, ok := apirequest.RequestInfoFrom(r.Context()); ok && info.Verb == "watch" {
			s.watch(w, r, h, leave)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func isProbe(path string) bool {
	for _, p := range []string{"/livez", "/readyz", "/healthz", "/version"} {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}
