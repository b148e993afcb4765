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
	usage   Usage
	seats   *fair.Scheduler
	backlog *backlog.Ledger
	bodies  bodies
	lists   *lists
	streams unseated
	slow    unseated
}

// New returns a Limiter.
func New(usage Usage, seats *fair.Scheduler, ledger *backlog.Ledger) *Limiter {
	return &Limiter{
		usage:   usage,
		seats:   seats,
		backlog: ledger,
		lists:   newLists(usableMemory()),
		streams: unseated{ofSpace: streamsOfSpace, ofAll: streamsOfAll},
		slow:    unseated{ofSpace: slowOfSpace, ofAll: slowOfAll},
	}
}

// Usage says what the quota of a space leaves it.
type Usage interface {
	// Admit returns nil for a request that is within the rate of its space, and otherwise what to
	// answer.
	Admit(space string) *metav1.Status
	// Watches returns how many watches a space may have open, and whether its quota says so.
	Watches(space string) (most int, limited bool)
	// Listed returns how many objects a list of a resource decodes, and of how many bytes: none where a
	// cache answers.
	Listed(space, group, resource string) (objects, bytes int64)
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
		if refused := s.usage.Admit(space); refused != nil {
			response.WriteTooMany(w, refused)
			return
		}
		info, ok := apirequest.RequestInfoFrom(r.Context())
		if !ok {
			info = &apirequest.RequestInfo{}
		}
		streams := isStream(info)
		if hasBody(r) && !streams && r.Header.Get("Upgrade") == "" {
			free, refused := s.receive(w, r, space)
			defer free()
			if refused != nil {
				if r.ProtoMajor == 1 {
					w.Header().Set("Connection", "close") // there is more of the body, which nobody reads
				}
				response.WriteTooMany(w, refused)
				return
			}
		}
		wait, cancel := context.WithTimeout(r.Context(), maxWait)
		defer cancel()
		if bytes := s.decodes(r, info, space); bytes > 0 {
			leave, err := s.lists.take(wait, space, bytes)
			if err != nil {
				response.WriteTooMany(w, response.TooManyRequests("space "+space+" has too many large lists going on, "+
					"or all spaces together have: list by pages (limit=500), or fewer side by side"))
				return
			}
			defer leave()
		}
		leave, err := s.seats.Take(wait, space)
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
		if info.Resource == "pods" {
			r = response.WithWriter(w, r)
		}
		switch {
		case streams:
			s.stream(w, r, h, leave)
		case info.Verb == "watch":
			s.watch(w, r, h, leave)
		default:
			s.answered(w, r, h, space, leave)
		}
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
