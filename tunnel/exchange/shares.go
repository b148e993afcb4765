package exchange

import (
	"fmt"
	"net/http"
	"sync"
)

// Users, webhooks and Services have separate shares of the streams to a site, so that none keeps another
// out. Together they are what a data connection has room for. A space has a part of the last two at most: its
// slow ones keep no other space out.
const (
	MostOfUsers    = 128
	MostOfWebhooks = 64
	MostOfServices = 1024
	// MostOfSpace and MostServicesOfSpace are those parts.
	MostOfSpace         = MostOfWebhooks / 2
	MostServicesOfSpace = MostOfServices * 3 / 4
)

// purpose is what a request is for.
type purpose struct {
	most, mostOfSpace int // mostOfSpace is 0 where a space may have all
	name, then        string
}

var (
	forUsers    = &purpose{MostOfUsers, 0, "streams of users into its pods", "end some"}
	forWebhooks = &purpose{MostOfWebhooks, MostOfSpace, "connections to webhooks", "try again"}
	forServices = &purpose{MostOfServices, MostServicesOfSpace, "connections to Services from other sites", "try again"}
)

func purposeOf(r *Request) *purpose {
	switch {
	case r.Verb == Connect && r.Resource == Services:
		return forServices
	case r.Verb == Connect:
		return forWebhooks
	}
	return forUsers
}

// Shares counts the requests that are open at a place, in all shares apart. The zero value has none; its
// methods may be called concurrently.
type Shares struct {
	mu   sync.Mutex
	open map[share]int
}

// share is what is counted: a place, in it a purpose, and of some purposes also each space.
type share struct {
	at    string
	of    *purpose
	space string
}

// Take notes a request at a place, the name of a target or empty, until done is called. Its error
// is a *Fault where the share of the request is used up.
func (s *Shares) Take(at string, r *Request) (done func(), err error) {
	p := purposeOf(r)
	all, own := share{at: at, of: p}, share{at, p, r.Space}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open[all] >= p.most:
		return nil, full(at, p.most, p.name, p.then)
	case p.mostOfSpace == 0:
		return s.takeLocked(all), nil
	case s.open[own] >= p.mostOfSpace:
		return nil, full(at, p.mostOfSpace, p.name+" of space "+r.Space, p.then)
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
