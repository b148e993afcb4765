package exchange

import "io"

// OnClose returns the body of an answer, which calls done when it is closed. An upgraded connection stays one,
// and so does one whose halves end apart.
func OnClose(body io.ReadCloser, done func()) io.ReadCloser {
	c := &doneBody{body, done}
	switch to := body.(type) {
	case halfWriter:
		return &doneHalves{c, to}
	case io.Writer:
		return &doneConn{c, to}
	}
	return c
}

type doneBody struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (c *doneBody) Close() error {
	defer c.done()
	return c.ReadCloser.Close()
}

type doneConn struct {
	*doneBody
	io.Writer
}

// halfWriter is the half of an upgraded connection that this side ends.
type halfWriter interface {
	io.Writer
	CloseWriter
}

type doneHalves struct {
	*doneBody
	halfWriter
}
