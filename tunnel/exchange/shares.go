package exchange

import (
	"fmt"
	"net/http"
	"sync"
)

// Users and webhooks have separate shares of the streams to a site, so that neither keeps the other
// out. Together they are what a data connection has room for.
const (
	MostOfUsers    = 192
	MostOfWebhooks = 64
)

// Shares counts the requests that are open at a place, in both shares apart. The zero value has
// none; its methods may be called concurrently.
type Shares struct {
	mu   sync.Mutex
	open map[share]int
}

type share struct {
	at      string
	webhook bool
}

// Take notes a request at a place, the name of a target or empty, until done is called. Its error is a *Fault where the share of
// the request is used up.
func (s *Shares) Take(at string, v Verb) (done func(), err error) {
	k, most := share{at, v == Connect}, MostOfUsers
	if k.webhook {
		most = MostOfWebhooks
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[k] >= most {
		return nil, tooMany(k, most)
	}
	if s.open == nil {
		s.open = map[share]int{}
	}
	s.open[k]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[k]--; s.open[k] == 0 {
			delete(s.open, k)
		}
	}), nil
}

func tooMany(k share, most int) *Fault {
	what, then := "streams of users into its pods", "end some"
	if k.webhook {
		what, then = "connections to webhooks", "try again"
	}
	at := k.at
	if at != "" {
		at = "site " + at + ": "
	}
	message := fmt.Sprintf("%s%d %s are open, and no more may be; %s", at, most, what, then)
	return &Fault{
		Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1, Message: message,
	}
}
