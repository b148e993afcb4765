package services

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

const (
	// patience is how long all ways to a Service may take to connect, together. A caller that hears nothing for
	// longer tries again by itself.
	patience = 3 * time.Second
	// turn is how much of that one way may take while others wait.
	turn = time.Second
)

// way connects to a Service. The body of its answer is an io.ReadWriteCloser, which ends with ctx.
type way func(ctx context.Context) (*http.Response, error)

// first tries one way after the other, and returns the answer of the first that connects, else why none did.
func first(ctx context.Context, ways []way) (resp *http.Response, failed []string) {
	until := time.Now().Add(patience)
	for i, connect := range ways {
		left := time.Until(until)
		if i < len(ways)-1 {
			left = min(left, turn)
		}
		if left <= 0 || ctx.Err() != nil {
			break
		}
		resp, err := within(ctx, left, connect)
		if err == nil {
			return resp, nil
		}
		failed = append(failed, exchange.FaultOf(err).Message)
	}
	return nil, failed
}

// within tries a way for so long. What connects goes on until ctx ends.
func within(ctx context.Context, d time.Duration, connect way) (*http.Response, error) {
	late := fmt.Errorf("it does not answer within %s", d.Round(time.Millisecond))
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(d, func() { cancel(late) })
	resp, err := connect(ctx)
	if timer.Stop() && err == nil {
		return resp, nil
	}
	if err == nil {
		resp.Body.Close()
		err = late
	}
	cancel(err)
	return nil, err
}

// at connects to a Service at one target.
func (s *Services) at(ctx context.Context, target, space string, call upward.ServiceCall) (*http.Response, error) {
	resp, err := s.Sites.Do(ctx, target, &exchange.Request{Space: space, Namespace: call.Namespace, Pod: call.Service,
		Resource: exchange.Services, Origin: call.UID, Verb: exchange.Connect,
		Query:   url.Values{exchange.OptionPort: {strconv.Itoa(int(call.Port))}},
		Upgrade: exchange.Bytes()})
	if err != nil {
		return nil, err
	}
	if _, is := resp.Body.(io.ReadWriteCloser); resp.StatusCode == http.StatusSwitchingProtocols && is {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, exchange.Refusal(resp)
}

// above has the parent connect to a Service, for a site.
func (s *Services) above(
	ctx context.Context,
	site, space string,
	call upward.ServiceCall,
) (*http.Response, error) {
	done, err := s.shares.Take("", &exchange.Request{Space: space, Verb: exchange.Connect, Resource: exchange.Services})
	if err != nil {
		f := *exchange.FaultOf(err)
		f.Message = "the way to the parent: " + f.Message
		return nil, &f
	}
	conn, err := upward.Call(ctx, s.up, space, site, call)
	if err != nil {
		done()
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: exchange.Bytes(),
		Body: &counted{conn, done}}, nil
}

// counted is a connection that gives back its share when it is closed.
type counted struct {
	io.ReadWriteCloser
	done func()
}

// Close implements io.Closer.
func (c *counted) Close() error {
	defer c.done()
	return c.ReadWriteCloser.Close()
}

// CloseWrite implements exchange.CloseWriter.
func (c *counted) CloseWrite() error {
	if half, can := c.ReadWriteCloser.(exchange.CloseWriter); can {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}

// order puts the nearest targets first, and last those of which nobody knows how far they are.
func (s *Services) order(targets []string) {
	slices.SortStableFunc(targets, func(a, b string) int {
		return int(s.far(a) - s.far(b))
	})
}

func (s *Services) far(target string) time.Duration {
	if rtt, known := s.RTT(target); known {
		return rtt
	}
	return time.Hour
}
