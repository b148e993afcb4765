package streams

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// meteredLog is how much of a log crosses a metered link when nobody says how much he wants.
const meteredLog = 1 << 20

// briefly asks for a log over a metered link: for its first MiB, unless the client has said how
// much it wants, and with a last line that says so when it was cut.
func briefly(
	ctx context.Context,
	targets tunnel.StreamOpener,
	target string,
	r *exchange.Request,
) (*http.Response, error) {
	if r.Query.Has("limitBytes") {
		return exchange.Via(ctx, targets, target, r)
	}
	cut := *r
	if cut.Query = maps.Clone(r.Query); cut.Query == nil {
		cut.Query = url.Values{}
	}
	cut.Query.Set("limitBytes", strconv.Itoa(meteredLog))
	resp, err := exchange.Via(ctx, targets, target, &cut)
	if err == nil && resp.StatusCode == http.StatusOK {
		resp.Body = &cutLog{ReadCloser: resp.Body, target: target, left: meteredLog}
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
			"\n[cut after %d KiB: the link of %s is metered; ask for more with --limit-bytes, or for less with --tail or --since]\n",
			meteredLog>>10,
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
