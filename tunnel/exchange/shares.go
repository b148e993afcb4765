package exchange

import (
	"fmt"
	"net/http"
	"sync"
)

// Users and webhooks have separate shares of the streams to a site, so that neither keeps the other
// out. Together they are what a data connection has room for. A space has at most half of that of
// webhooks: its slow ones keep no other space out.
const (
	MostOfUsers    = 192
	MostOfWebhooks = 64
	MostOfSpace    = MostOfWebhooks / 2
)

// Shares counts the requests that are open at a place, in both shares apart. The zero value has
// none; its methods may be called concurrently.
type Shares struct {
	mu   sync.Mutex
	open map[share]int
}

// share is what is counted: a place, in it webhooks or else users, and of webhooks also each space.
type share struct {
	at      string
	webhook bool
	space   string
}

// Take notes a request at a place, the name of a target or empty, until done is called. Its error
// is a *Fault where the share of the request is used up.
func (s *Shares) Take(at string, r *Request) (done func(), err error) {
	all := share{at: at, webhook: r.Verb == Connect}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !all.webhook {
		if s.open[all] >= MostOfUsers {
			return nil, full(at, MostOfUsers, "streams of users into its pods", "end some")
		}
		return s.takeLocked(all), nil
	}
	own := all
	own.space = r.Space
	switch {
	case s.open[all] >= MostOfWebhooks:
		return nil, full(at, MostOfWebhooks, "connections to webhooks", "try again")
	case s.open[own] >= MostOfSpace:
		return nil, full(at, MostOfSpace, "connections to webhooks of space "+r.Space, "try again")
	}
	return s.takeLocked(all, own), nil
}

func (s *Shares) takeLocked(of ...share) (done func()) {
	if s.open == nil {
		s.open = map[share]int{}
	}
	for _, k := range of {
		s.open[k]++
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, k := range of {
			if s.open[k]--; s.open[k] == 0 {
				delete(s.open, k)
			}
		}
	})
}

func full(at string, most int, what, then string) *Fault {
	if at != "" {
		at = "site " + at + ": "
	}
	return &Fault{
		Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1,
		Message: fmt.Sprintf("%s%d %s are open, and no more may be; %s", at, most, what, then),
	}
}
