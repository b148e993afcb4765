package data

import (
	"errors"
	"fmt"
	"io"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/wire"
)

// The first bytes of a data connection: version, kind and number of the child, then one byte of the
// parent.
const (
	kindData  = 4
	headBytes = 2 + len(tunnel.Number{})
	taken     = 1
)

// writeHead says a number.
func writeHead(to io.Writer, n tunnel.Number) error {
	_, err := to.Write(append([]byte{wire.Version, kindData}, n[:]...))
	return err
}

// readHead reads the number that the child says.
func readHead(from io.Reader) (n tunnel.Number, err error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return n, fmt.Errorf("read the number of a data connection: %w", err)
	}
	if head[0] != wire.Version || head[1] != kindData {
		return n, fmt.Errorf("%w: a data connection begins with %x", tunnel.ErrProtocol, head[:2])
	}
	return tunnel.Number(head[2:]), nil
}

// readTaken waits for the parent's answer.
func readTaken(from io.Reader) error {
	var answer [1]byte
	if _, err := io.ReadFull(from, answer[:]); err != nil {
		return fmt.Errorf("the parent did not take the data connection: %w", err)
	}
	if answer[0] != taken {
		return errors.New("the parent did not take the data connection")
	}
	return nil
}
