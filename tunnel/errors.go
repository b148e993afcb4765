package tunnel

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// Reasons for which one side ends a connection. They reach the other side: its Conn.Err is the same
// error.
var (
	// ErrDraining is the reason when a parent stops. The child dials again.
	ErrDraining = errors.New("the parent is stopping")
	// ErrReplaced is the reason when a newer session of the same identity has begun.
	ErrReplaced = errors.New("a newer session of the same site has taken over")
	// ErrRefused is the reason when the session was refused. Details came as *Refused.
	ErrRefused = errors.New("the session was refused")
	// ErrRenewed is returned by ServeChild when an expired certificate was renewed: dial again with
	// the new one.
	ErrRenewed = errors.New("the certificate was renewed, dial again")
	// ErrAgain is returned by ServeChild when the parent that was held is followed from now on.
	// Dial again.
	ErrAgain = errors.New("the parent is followed again, dial anew")
	// ErrRemoved is the reason when the parent has removed the child for good.
	ErrRemoved = errors.New("this site was removed at its parent")
	// ErrStalled is the reason when the link carries heartbeats and no data. The child dials again,
	// and finds a route that works.
	ErrStalled = errors.New("full packets do not cross the link, though small ones do (an MTU below 1,228 bytes?)")
	// ErrUnused is the reason when a data connection has had no stream for a while. It is no
	// failure.
	ErrUnused = errors.New("nothing has used the data connection for a while")
	// ErrUnasked is the reason when a data connection comes that the parent did not ask for.
	ErrUnasked = errors.New("the parent did not ask for this data connection")
	// ErrProtocol is the reason when the other side broke the protocol.
	ErrProtocol = errors.New("the other side broke the protocol")
)

// ErrStreamCanceled is the error of a stream that the other side has canceled.
var ErrStreamCanceled = errors.New("canceled by the other side")

// errChildStopped is why a session ended whose child canceled its streams and gave no reason.
var errChildStopped = errors.New("agent stopped")

// closed is a close by the other side that has no code.
type closed struct{ text string }

func (c *closed) Error() string {
	if c.text == "" {
		return "closed by the other side"
	}
	return "closed by the other side: " + c.text
}

// childStopped returns what to say of a session that ended with err because its child ended it
// without a reason, and err for all others.
func childStopped(conn Conn, err error) error {
	var refused *Refused
	var by *closed
	if errors.As(err, &refused) || CodeOf(err) != 0 || silent(err) {
		return err
	}
	if errors.As(conn.Err(), &by) || errors.Is(err, ErrStreamCanceled) {
		return errChildStopped
	}
	return err
}

// The codes of the reasons on the wire. 0 is a close without a reason.
var reasons = []error{
	nil,
	ErrDraining,
	ErrReplaced,
	ErrRefused,
	ErrRenewed,
	ErrProtocol,
	ErrAgain,
	ErrRemoved,
	ErrStalled,
	ErrUnused,
	ErrUnasked,
}

// CodeOf returns the code that a transport sends for a reason.
func CodeOf(reason error) uint64 {
	for code, r := range reasons {
		if r != nil && errors.Is(reason, r) {
			return uint64(code)
		}
	}
	return 0
}

// ReasonOf returns the reason that a code stands for. Unknown codes become an error with the peer's
// text.
func ReasonOf(code uint64, text string) error {
	if code == 0 || code >= uint64(len(reasons)) {
		return &closed{text}
	}
	return reasons[code]
}

// ClosedHere returns why a connection ended that this side has closed for a reason, which may be
// nil.
func ClosedHere(reason error) error {
	if code := CodeOf(reason); code != 0 {
		return reasons[code]
	}
	if reason == nil {
		return net.ErrClosed
	}
	return fmt.Errorf("%w: %w", net.ErrClosed, reason)
}

// Refused is a parent's refusal of a session.
type Refused struct {
	// Reason is a CamelCase word: Version, Dictionary, Unknown, Busy ...
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// RetryAfter is when the child may try again; 0 leaves that to the child.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Final is true when a retry cannot succeed: a person has to decide.
	Final bool `json:"final,omitempty"`
}

// FinalRefusal returns the *Refused in err if it is Final, else nil.
func FinalRefusal(err error) *Refused {
	var r *Refused
	if errors.As(err, &r) && r.Final {
		return r
	}
	return nil
}

// Error says why.
func (r *Refused) Error() string {
	return fmt.Sprintf("the parent refused the session: %s: %s", r.Reason, r.Message)
}
