package tunnel

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"

	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/wire"
)

const (
	typeConnect      wire.Type = 46 // of the parent: bring a data connection up
	typeNotConnected wire.Type = 47 // of the child: it cannot
	typeWanted       wire.Type = 48 // of the child: it wants to be asked for one
)

// Number is said once: a parent gives it to a child with the request for a data connection, and the
// child says it first on the new connection. It is a secret until then, and means nothing
// afterwards.
type Number [16]byte

// NewNumber returns a random number.
func NewNumber() (n Number) {
	_, _ = rand.Read(n[:]) // it never fails
	return n
}

// MarshalText implements encoding.TextMarshaler.
func (n Number) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, n[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Number) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(n)) {
		return errors.New("a number has 32 digits")
	}
	_, err := hex.Decode(n[:], text)
	return err
}

// Connect asks a child for a data connection, see package data.
type Connect struct {
	Number Number `json:"number"`
}

func (Connect) frame() wire.Type { return typeConnect }

// NotConnected says that a child does not bring the connection up that Number asked for.
type NotConnected struct {
	Number Number `json:"number"`
	Why    string `json:"why"`
}

// maxWhy bounds what a parent takes of a child's reason.
const maxWhy = 256

// bounded returns what a parent takes of it.
func (n NotConnected) bounded() NotConnected {
	n.Why = clip.Text(n.Why, maxWhy)
	return n
}

// Wanted asks a parent to ask for a data connection, because the child has something to send over
// it.
type Wanted struct {
	// Ended is the number of the child's last data connection, which has ended there; zero for
	// none. A parent that has another one by now has nothing to do.
	Ended Number `json:"ended"`
}

// wanted sends the parent what comes on the child's Wanted.
func (c *child) wanted(ctx context.Context) error {
	select {
	case <-c.linked:
	case <-ctx.Done():
		return nil
	}
	for {
		select {
		case w := <-c.Wanted:
			if err := c.control.send(typeWanted, w); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// wanted hands on that a child wants to be asked for a data connection.
func (p *parent) wanted(payload []byte) error {
	w, err := decode[Wanted](payload)
	if err == nil && p.Listener != nil {
		p.Listener.Wanted(w)
	}
	return err
}

// connect has the child bring a data connection up, or tells why it does not.
func (c *child) connect(payload []byte) error {
	asked, err := decode[Connect](payload)
	if err != nil {
		return err
	}
	failed := func(why error) {
		// It fails with the session. The parent asks again in the next one.
		_ = c.control.send(typeNotConnected, NotConnected{asked.Number, why.Error()}.bounded())
	}
	if c.OnConnect == nil {
		failed(errors.New("this site serves no streams"))
		return nil
	}
	c.OnConnect(asked.Number, failed)
	return nil
}

// notConnected hands on that a child does not connect.
func (p *parent) notConnected(payload []byte) error {
	n, err := decode[NotConnected](payload)
	if err == nil && p.Listener != nil {
		p.Listener.NotConnected(n.bounded())
	}
	return err
}
