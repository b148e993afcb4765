package tunnel

import (
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/wire"
)

// Order is what a parent tells one child besides data. A child carries it out, durably, before it says so.
type Order interface{ frame() wire.Type }

// Bundle is the order to trust exactly these authorities from now on. The child answers with Holding.
type Bundle struct {
	PEM []byte `json:"pem"`
	// Renew asks for a new certificate now: the authority of the present one is about to be retired.
	Renew bool `json:"renew,omitempty"`
}

func (Bundle) frame() wire.Type { return typeBundle }

// Accept is an admin's word that a child may do what it holds back. It names exactly what was shown; for anything else it means nothing.
type Accept struct {
	// Center is the position of the parent's data that is to be followed, At that of the child's copy, which holds. Both are zero where no
	// center is accepted. Deletions is how many objects may be deleted for it.
	Center    store.Position `json:"center,omitzero"`
	At        store.Position `json:"at,omitzero"`
	Deletions int            `json:"deletions,omitempty"`
	// DeletionsUpTo is the revision of the newest deletion that may be carried out; 0 where none was held.
	DeletionsUpTo int64 `json:"deletionsUpTo,omitempty"`
}

func (Accept) frame() wire.Type { return typeAccept }

// accept lets the child carry out what an admin has confirmed.
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

// Holding is what a child durably holds of its credentials. It is information, like all of Hello.
type Holding struct {
	// Bundle names the authorities that it trusts, see enroll.BundleName.
	Bundle string `json:"bundle,omitempty"`
	// Authority names the authority that signed its certificate, see enroll.AuthorityName.
	Authority string `json:"authority,omitempty"`
	// Until is when its certificate ends.
	Until time.Time `json:"until,omitzero"`
}

// Renewal is how a session keeps a child's credentials. Wait, CSR and Install are needed; the others may be nil.
type Renewal struct {
	// Wait is how long it is until the certificate should be renewed. It is asked when the parent has welcomed the child, and after Install.
	Wait func() time.Duration
	// CSR returns a certificate request (PEM).
	CSR func() ([]byte, error)
	// Install takes the new certificate, and the authorities to trust from now on (PEM; none leaves them as they are).
	Install func(chainPEM, bundlePEM []byte) error
	// Trust takes the authorities to trust from now on (PEM).
	Trust func(bundlePEM []byte) error
	// Holding is what the parent is told.
	Holding func() Holding
	// Tried is called with the outcome of each attempt to renew.
	Tried func(error)
}

func (r *Renewal) tried(err error) {
	if r.Tried != nil {
		r.Tried(err)
	}
}

// Orders wait to be sent to one child. All methods may be called concurrently.
type Orders struct {
	limit int
	bell  store.Bell

	mu   sync.Mutex
	list []Order
}

// NewOrders returns a queue that takes so many orders at a time.
func NewOrders(limit int) *Orders { return &Orders{limit: limit} }

// Put has an order sent. It returns false, and does nothing, while too many wait.
func (o *Orders) Put(order Order) bool {
	o.mu.Lock()
	room := len(o.list) < o.limit
	if room {
		o.list = append(o.list, order)
	}
	o.mu.Unlock()
	if room {
		o.bell.Ring()
	}
	return room
}

// take returns the next order, nil when there is none.
func (o *Orders) take() (next Order) {
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

// order sends the orders that wait, and how the link is used when that has changed.
func (p *parent) order() {
	for {
		var next Order
		if link := p.Use.Now(); link != p.told {
			next, p.told = link, link
		} else if narrow := p.Use.narrowed(); !narrow.Equal(p.narrowed) {
			next, p.narrowed = narrow, narrow
		} else if next = p.Orders.take(); next == nil {
			return
		}
		if err := p.control.send(next.frame(), next); err != nil {
			p.cancel(err)
			return
		}
	}
}

// narrow hands on what the parent takes away.
func (c *child) narrow(n *Narrow) {
	if c.OnNarrow != nil {
		c.OnNarrow(n)
	}
}
