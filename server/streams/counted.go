package streams

import (
	"io"

	"skerry.dev/skerry/tunnel/exchange"
)

// counted returns the body of an answer, which calls done when it is closed. An upgraded connection stays one,
// and so does one whose halves end apart.
func counted(body io.ReadCloser, done func()) io.ReadCloser {
	c := &countedBody{body, done}
	switch to := body.(type) {
	case halfWriter:
		return &countedHalves{c, to}
	case io.Writer:
		return &countedConn{c, to}
	}
	return c
}

type countedBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (c *countedBody) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

type countedConn struct {
	*countedBody
	io.Writer
}

// halfWriter is the half of an upgraded connection that this side ends.
type halfWriter interface {
	io.Writer
	exchange.CloseWriter
}

type countedHalves struct {
	*countedBody
	halfWriter
}
