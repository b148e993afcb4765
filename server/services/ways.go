package services

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

const (
	// patience is how long all ways to a Service may take to connect, together. A caller that hears nothing for
	// longer tries again by itself.
	patience = 3 * time.Second
	// turn is how long one way is tried before the next one is, too.
	turn = time.Second
)

// way connects to a Service. The body of its answer is an io.ReadWriteCloser, which ends with ctx.
type way func(ctx context.Context) (*http.Response, error)

// answer is what a way has come to.
type answer struct {
	way  int
	resp *http.Response
	err  error
}

var (
	errLate = &exchange.Fault{Code: http.StatusGatewayTimeout, Reason: "Timeout",
		Message: fmt.Sprintf("it does not answer within %s", patience)}
	errOther = errors.New("another site has answered")
)

// first tries one way after the other, and returns the answer of the first that connects, else why none did. A
// refusal has the next one tried at once. A way that says nothing goes on beside the next one: it may be dead, or
// far away. By is the index of the one that has connected.
func first(ctx context.Context, ways []way) (resp *http.Response, by int, failed []*exchange.Fault) {
	late, next := time.NewTimer(patience), time.NewTimer(turn)
	defer late.Stop()
	defer next.Stop()
	answers, open := make(chan answer, len(ways)), 0
	var ends []context.CancelCauseFunc // of the ways that were begun
	begin := func() {
		if i := len(ends); i < len(ways) {
			ctx, end := context.WithCancelCause(ctx)
			ends, open = append(ends, end), open+1
			next.Reset(turn)
			go func() {
				resp, err := ways[i](ctx)
				answers <- answer{i, resp, err}
			}()
		}
	}
	for begin(); open > 0; {
		select {
		case a := <-answers:
			open--
			if a.err == nil {
				end(ends, a.way, errOther)
				go drop(answers, open)
				return a.resp, a.way, nil
			}
			ends[a.way](a.err)
			failed = append(failed, exchange.FaultOf(a.err))
			begin()
		case <-next.C:
			begin()
		case <-late.C:
			end(ends, -1, errLate)
			return nil, 0, append(failed, drop(answers, open)...)
		case <-ctx.Done():
			end(ends, -1, context.Cause(ctx))
			return nil, 0, append(failed, drop(answers, open)...)
		}
	}
	return nil, 0, failed
}

// end ends all ways but one.
func end(ends []context.CancelCauseFunc, but int, why error) {
	for i, end := range ends {
		if i != but {
			end(why)
		}
	}
}

// drop waits for ways that were ended, closes what they have connected nevertheless, and returns why the others have
// not.
func drop(answers <-chan answer, open int) (failed []*exchange.Fault) {
	for range open {
		if a := <-answers; a.err != nil {
			failed = append(failed, exchange.FaultOf(a.err))
		} else {
			a.resp.Body.Close()
		}
	}
	return failed
}

// at connects to a Service at one target.
func (s *Services) at(
	ctx context.Context,
	target, space string,
	call upward.ServiceCall,
) (resp *http.Response, err error) {
	r := exchange.ToService(space, call.Namespace, call.Service, call.Host, call.Port)
	r.Origin, r.Caller = call.UID, call.Caller
	ctx, told := tracedWay(ctx, target)
	defer func() { told(err) }()
	if resp, err = s.joined(ctx, target, r); exchange.TraceOf(ctx) != nil && codeOf(err) == http.StatusBadRequest {
		resp, err = s.joined(exchange.Untraced(ctx), target, r) // its agent is older, and knows of no trace
	}
	s.ready.answered(keyOf(r), target, resp)
	return resp, err
}

// joined asks one target for a connection.
func (s *Services) joined(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	resp, err := s.Sites.Do(ctx, target, r)
	if err != nil {
		return nil, err
	}
	if _, err := exchange.Connection(resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// codeOf is the code of a refusal, 0 for none.
func codeOf(err error) int {
	if err == nil {
		return 0
	}
	return exchange.FaultOf(err).Code
}

// above has the parent connect to a Service, for a site.
func (s *Services) above(
	ctx context.Context,
	site, space string,
	call upward.ServiceCall,
) (resp *http.Response, err error) {
	ctx, told := tracedWay(ctx, "..")
	defer func() { told(err) }()
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
		Body: exchange.OnClose(conn, done)}, nil
}
