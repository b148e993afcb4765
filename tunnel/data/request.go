package data

import (
	"crypto/subtle"
	"net/netip"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// askTime is how long a child has to bring its connection up. A child tries every way for 10 s.
const askTime = 12 * time.Second

// maxComing bounds the connections of one child whose number was not read yet.
const maxComing = 2

// request is a data connection that a child was asked for. Links.mu guards its fields but done.
type request struct {
	who    tunnel.Identity
	from   netip.Prefix // where the child's session comes from
	number tunnel.Number
	// instance is the run of the child that was asked.
	instance string
	used     bool // the number was said
	coming   int  // connections whose number was not read yet
	late     *time.Timer
	done     chan struct{} // closed when conn or err is there
	conn     *mux.Conn
	err      error
}

// sameHolder reports whether two identities are one site: the same name and the same key. A
// certificate that was renewed meanwhile has another serial number and another end.
func sameHolder(a, b tunnel.Identity) bool {
	return a.Target == b.Target && a.Key == b.Key && a.Key != ""
}

// expects reports whether a connection of an identity may come now.
func (r *request) expects(who tunnel.Identity, now time.Time) bool {
	return r != nil && !r.used && r.coming < maxComing && sameHolder(r.who, who) &&
		(who.NotAfter.IsZero() || now.Before(who.NotAfter))
}

// is reports whether a number is the one that was asked for, in a time that tells nothing.
func (r *request) is(n tunnel.Number) bool {
	return subtle.ConstantTimeCompare(r.number[:], n[:]) == 1
}
