package streams

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"skerry.dev/skerry/tunnel/exchange"
)

// meteredAnswer is how much of a log or of a view crosses a metered link when nobody says how much
// he wants.
const meteredAnswer = 1 << 20

// briefly sends a request over a metered link. Of a log or a view it asks for the first MiB, unless
// the client has said how much it wants. A log that was cut gets a last line that says so; a view
// says it by a warning (exchange.OptionLimit).
func (s *Streams) briefly(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	const limit = exchange.OptionLimit
	if r.Verb != exchange.Log && r.Verb != exchange.View || r.Query.Has(limit) {
		return exchange.Via(ctx, s.Targets, target, r)
	}
	cut := *r
	if cut.Query = maps.Clone(r.Query); cut.Query == nil {
		cut.Query = url.Values{}
	}
	cut.Query.Set(limit, strconv.Itoa(meteredAnswer))
	resp, err := exchange.Via(ctx, s.Targets, target, &cut)
	if err == nil && resp.StatusCode == http.StatusOK && r.Verb == exchange.Log {
		resp.Body = &cutLog{ReadCloser: resp.Body, target: target, left: meteredAnswer}
	}
	return resp, err
}

// cutLog says at its end that the log goes on, when it was as long as was asked for.
type cutLog struct {
	io.ReadCloser
	target string
	left   int
	last   []byte // what is still to be said
	said   bool
}

// Read implements io.Reader.
func (c *cutLog) Read(p []byte) (int, error) {
	if !c.said {
		n, err := c.ReadCloser.Read(p)
		c.left -= n
		if err != io.EOF || c.left > 0 {
			return n, err
		}
		c.said = true
		c.last = fmt.Appendf(
			nil,
			"\n[cut after %d KiB: the link of %s is metered; ask for more with --limit-bytes, or for less with --tail "+
				"or --since]\n",
			meteredAnswer>>10,
			c.target,
		)
		if n > 0 {
			return n, nil
		}
	}
	if len(c.last) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.last)
	c.last = c.last[n:]
	return n, nil
}
