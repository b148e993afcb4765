package tunnel

import (
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/wire"
)

// Command is a frame that a parent sends to one child besides data. The child carries it out
// durably before it answers.
type Command interface{ frame() wire.Type }

// Bundle is the order to trust exactly these authorities from now on. The child answers with
// Holding.
type Bundle struct {
	PEM []byte `json:"pem"`
	// Renew asks for a new certificate now: the authority of the present one is about to be
	// retired.
	Renew bool `json:"renew,omitempty"`
}

func (Bundle) frame() wire.Type { return typeBundle }

// Accept is an admin's confirmation of what a child holds back. It names exactly what was shown,
// and means nothing for anything else.
type Accept struct {
	// Center is the position of the parent's data that is to be followed. At is the position of the
	// child's copy, which holds. Both are zero if no center is accepted. Deletions is how many
	// objects may be deleted for it.
	Center    store.Position `json:"center,omitzero"`
	At        store.Position `json:"at,omitzero"`
	Deletions int            `json:"deletions,omitempty"`
	// DeletionsUpTo is the revision of the newest deletion that is confirmed; 0 if none was
	// withheld.
	DeletionsUpTo int64 `json:"deletionsUpTo,omitempty"`
}

func (Accept) frame() wire.Type { return typeAccept }

// Wish is what a parent wishes of a child, which its owner may refuse.
type Wish struct {
	// AgentVersion is the version that the child is to have, empty for any.
	AgentVersion string `json:"agentVersion,omitempty"`
}

func (Wish) frame() wire.Type { return typeWish }

// accept carries out what an admin has confirmed.
func (c *child) accept(payload []byte) error {
	a, err := decode[Accept](payload)
	if err != nil || c.OnAccept == nil {
		return err
	}
	again, err := c.OnAccept(a)
	if err != nil {
		c.Log.Error("what the admin accepted could not be noted; it stays held", "err", err)
		return nil
	}
	if again {
		return ErrAgain
	}
	return nil
}

// CredentialStatus is what a child has durably stored of its credentials. It is information, like
// all of Hello.
type CredentialStatus struct {
	// Bundle names the authorities that the child trusts, see enroll.BundleName.
	Bundle string `json:"bundle,omitempty"`
	// Authority names the authority that signed its certificate, see enroll.AuthorityName.
	Authority string `json:"authority,omitempty"`
	// Until is when its certificate expires.
	Until time.Time `json:"until,omitzero"`
}

// Renewal renews a child's credentials over a session. Wait, CSR and Install are required; the
// others may be nil.
type Renewal struct {
	// Wait returns how long it is until the certificate should be renewed. It is called after the
	// welcome and after Install.
	Wait func() time.Duration
	// CSR returns a certificate request (PEM).
	CSR func() ([]byte, error)
	// Install stores the new certificate, and the authorities to trust from now on (PEM; empty
	// leaves them unchanged).
	Install func(chainPEM, bundlePEM []byte) error
	// Trust stores the authorities to trust from now on (PEM).
	Trust func(bundlePEM []byte) error
	// Holding returns what is reported to the parent.
	Status func() CredentialStatus
	// Tried is called with the outcome of each attempt to renew.
	Tried func(error)
}

func (r *Renewal) tried(err error) {
	if r.Tried != nil {
		r.Tried(err)
	}
}

// Commands is a bounded queue of frames to one child. All methods may be called concurrently.
type Commands struct {
	limit   int
	changes store.Notifier

	mu   sync.Mutex
	list []Command
}

// NewCommands returns a queue of at most limit entries.
func NewCommands(limit int) *Commands { return &Commands{limit: limit} }

// Put queues a frame. It reports false, and queues nothing, when the queue is full.
func (o *Commands) Put(order Command) bool {
	o.mu.Lock()
	room := len(o.list) < o.limit
	if room {
		o.list = append(o.list, order)
	}
	o.mu.Unlock()
	if room {
		o.changes.Notify()
	}
	return room
}

// next removes and returns the next frame, nil if there is none.
func (o *Commands) next() (next Command) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) > 0 {
		next, o.list = o.list[0], o.list[1:]
	}
	if len(o.list) == 0 {
		o.list = nil
	}
	return next
}

// sendCommands sends the queued frames, and how to use the link when that has changed.
func (p *parent) sendCommands() {
	for {
		var next Command
		if link := p.Use.Now(); link != p.told {
			next, p.told = link, link
		} else if narrow := p.Use.narrowed(); !narrow.Equal(p.narrowed) {
			next, p.narrowed = narrow, narrow
		} else if wish := p.Use.wished(); wish != p.wished {
			next, p.wished = wish, wish
		} else if next = p.Commands.next(); next == nil {
			return
		}
		if err := p.control.send(next.frame(), next); err != nil {
			p.cancel(err)
			return
		}
	}
}

// narrow passes on what the parent takes away.
func (c *child) narrow(n *Narrow) {
	if c.OnNarrow != nil {
		c.OnNarrow(n)
	}
}

// wish passes on what the parent wishes.
func (c *child) wish(w Wish) {
	if c.OnWish != nil {
		c.OnWish(w)
	}
}

// told takes over what the parent says of the link, of what it takes away, or of what it wishes.
func (c *child) told(t wire.Type, payload []byte) error {
	switch t {
	case typeLink:
		return take(payload, c.use)
	case typeNarrow:
		return take(payload, c.narrow)
	default:
		return take(payload, c.wish)
	}
}

// take has what a frame says used.
func take[T any](payload []byte, use func(T)) error {
	v, err := decode[T](payload)
	if err != nil {
		return err
	}
	use(v)
	return nil
}
