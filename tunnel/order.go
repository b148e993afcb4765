package tunnel

import (
	"context"
	"fmt"
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

// order sends the parent's orders as they come, and how the link is used when that changes; it ends the session with the connection.
func (p *parent) order(ctx context.Context) error {
	told := p.admission.Welcome.Link
	for {
		var o Order
		link, changed := p.Use.now()
		if link != told {
			o, told = link, link
		} else {
			select {
			case o = <-p.Orders:
			case <-changed:
				continue
			case <-p.conn.Done():
				return fmt.Errorf("the connection ended: %w", p.conn.Err())
			case <-ctx.Done():
				return nil
			}
		}
		if err := p.control.send(o.frame(), o); err != nil {
			return err
		}
	}
}
