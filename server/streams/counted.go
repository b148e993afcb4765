package streams

import "io"

// counted returns the body of an answer, which calls done when it is closed. An upgraded connection
// stays one.
func counted(body io.ReadCloser, done func()) io.ReadCloser {
	c := &countedBody{body, done}
	if conn, upgraded := body.(io.ReadWriteCloser); upgraded {
		return &countedConn{c, conn}
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
