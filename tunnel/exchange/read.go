package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// head bounds what is read until a head is complete.
type head struct {
	r    io.Reader
	left int
}

var errHead = fmt.Errorf("a head of more than %d bytes", maxHead)

func (h *head) Read(b []byte) (int, error) {
	if h.left <= 0 {
		return 0, errHead
	}
	n, err := h.r.Read(b[:min(len(b), h.left)])
	if h.left != math.MaxInt {
		h.left -= n
	}
	return n, err
}

// over lifts the bound: what follows is not the head's.
func (h *head) over() { h.left = math.MaxInt }

// Read reads one request. The reader that it returns has what follows the request.
func Read(from io.Reader) (*Request, *bufio.Reader, error) {
	h := &head{from, maxHead}
	in := bufio.NewReader(h)
	req, err := http.ReadRequest(in)
	if err != nil {
		return nil, in, fmt.Errorf("read the request: %w", err)
	}
	h.over()
	r, err := parse(req)
	if err != nil {
		return nil, in, err
	}
	if req.ContentLength > 0 {
		r.Body = make([]byte, req.ContentLength)
		if _, err := io.ReadFull(req.Body, r.Body); err != nil {
			return nil, in, fmt.Errorf("read the request's body: %w", err)
		}
	}
	return r, in, r.Check()
}

// parse takes over a head. It accepts what encode writes, and nothing else.
func parse(req *http.Request) (*Request, error) {
	u := req.URL
	parts := strings.Split(u.Path, "/")
	switch {
	case req.Method != http.MethodPost,
		req.ProtoMajor != 1,
		req.ProtoMinor != 1,
		req.Host != "target":
		return nil, fmt.Errorf(
			"%w: it begins with %.80q",
			ErrRequest,
			req.Method+" "+req.RequestURI,
		)
	case len(parts) != 5,
		parts[0] != "",
		u.RawPath != "",
		u.Host != "",
		u.Scheme != "",
		u.User != nil,
		u.Fragment != "":
		return nil, fmt.Errorf("%w: path %.80q", ErrRequest, req.RequestURI)
	case len(req.TransferEncoding) > 0,
		req.ContentLength < 0,
		req.ContentLength > int64(Verb(parts[4]).maxBody()),
		len(req.Trailer) > 0:
		return nil, fmt.Errorf(
			"%w: its body has no length, or more than %d bytes",
			ErrRequest,
			Verb(parts[4]).maxBody(),
		)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("%w: query: %w", ErrRequest, err)
	}
	r := &Request{
		Space:     parts[1],
		Namespace: parts[2],
		Pod:       parts[3],
		Verb:      Verb(parts[4]),
		Query:     query,
	}
	upgrade := http.Header{}
	for key, values := range req.Header {
		if err := r.take(key, values, upgrade); err != nil {
			return nil, err
		}
	}
	if len(upgrade) > 0 {
		if r.Upgrade, err = Upgrade(upgrade); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// take takes over one header.
func (r *Request) take(key string, values []string, upgrade http.Header) (err error) {
	if isUpgrade(key) {
		upgrade[key] = values
		return nil
	}
	if len(values) != 1 && key != headerGroup {
		return fmt.Errorf("%w: %d headers %.80q", ErrRequest, len(values), key)
	}
	switch value := values[0]; key {
	case headerSpace:
		r.SpaceUID = value
	case headerUID:
		r.UID = value
	case headerOrigin:
		r.Origin = value
	case headerResource:
		r.Resource = value
	case headerUser:
		r.User, err = url.QueryUnescape(value)
	case headerGroup:
		for _, v := range values {
			g, bad := url.QueryUnescape(v)
			r.Groups, err = append(r.Groups, g), errors.Join(err, bad)
		}
	case headerCaller:
		r.Caller = value
	case HeaderTrace:
		if r.Traced = value == traceAsk; !r.Traced {
			err = fmt.Errorf("%.20q", value)
		}
	case headerPath:
		r.Path = strings.Split(value, "/")
	case headerTimeout:
		ms, bad := strconv.ParseUint(value, 10, 31)
		r.Timeout, err = time.Duration(ms)*time.Millisecond, bad
	case "Content-Length":
	default:
		return fmt.Errorf("%w: header %.80q", ErrRequest, key)
	}
	if err != nil {
		return fmt.Errorf("%w: header %s: %w", ErrRequest, key, err)
	}
	return nil
}
