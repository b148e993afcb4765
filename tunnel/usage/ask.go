package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// targetTime is how long one target may take: a data connection may have to be brought up for it
	// first, which is tried for 12 s.
	targetTime = 20 * time.Second
	// listTime is how long all targets together may take: less than a request for the API may.
	listTime = 45 * time.Second
	// maxAnswers bounds all answers to one request together, in bytes: some 20,000 Pods.
	maxAnswers = 16 << 20
	// maxRefusal bounds what is read of an answer that is no success, in bytes.
	maxRefusal = 64 << 10
)

// asking is one request to targets.
type asking struct {
	targets exchange.Sites
	// from is the request that the views are made of: who asks, and for which space.
	from *exchange.Request
	left atomic.Int64 // bytes that answers may still have
}

// view is the request for what Pods use in a namespace, or in all; of one Pod by its name there.
func (a *asking) view(namespace, name string) *exchange.Request {
	r := &exchange.Request{
		Space: a.from.Space, Namespace: namespace, Verb: exchange.View,
		User: a.from.User, Groups: a.from.Groups,
		Query: url.Values{
			exchange.OptionGroup:    {Group},
			exchange.OptionVersion:  {Version},
			exchange.OptionResource: {Resource},
		},
	}
	if name != "" {
		r.Query.Set(exchange.OptionName, name)
	}
	return r
}

// bounded returns a context for asking targets. It ends before ctx does, so that what was said until
// then still reaches whoever asks: the tier above waits as long as ctx lasts.
func bounded(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)*3/4)
	}
	return context.WithTimeout(ctx, most)
}

// ask asks one target. Ctx is the caller's, and within ends before it. Site is the path of targets
// that the answer came through, joined with slashes. The error is a *exchange.Fault.
func (a *asking) ask(ctx, within context.Context, target string, r *exchange.Request) (
	all []Metrics, warnings []string, site string, err error,
) {
	if within.Err() != nil && ctx.Err() == nil {
		return nil, nil, target, late("site " + target + " was not asked, because others took too long")
	}
	limited, cancel := context.WithTimeout(within, targetTime)
	defer cancel()
	begun := time.Now()
	fault := func(err error) error {
		if limited.Err() != nil && ctx.Err() == nil {
			return late(fmt.Sprintf("site %s has not answered within %s", site, time.Since(begun).Round(time.Second)))
		}
		return of(site, err)
	}
	if end, ok := limited.Deadline(); ok {
		r.Timeout = max(time.Millisecond, time.Until(end))
	}
	site = target
	resp, err := a.targets.Do(limited, target, r)
	if err != nil {
		return nil, nil, site, fault(err)
	}
	defer resp.Body.Close()
	if at := resp.Header.Get(exchange.HeaderSite); at != "" {
		site = at
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, site, refusal(site, resp)
	}
	text, err := a.read(resp.Body)
	if err != nil {
		return nil, nil, site, fault(err)
	}
	all, err = Decode(text, !r.Query.Has(exchange.OptionName))
	if err != nil {
		return nil, nil, site, fault(err)
	}
	return all, exchange.Warnings(resp.Header), site, nil
}

// read reads an answer, within what all of them may have. One that is not kept counts no more.
func (a *asking) read(from io.Reader) (text []byte, err error) {
	taken := int64(0)
	defer func() {
		if err != nil {
			a.left.Add(taken)
		}
	}()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		taken += int64(n)
		if a.left.Add(int64(-n)) < 0 {
			return nil, &exchange.Fault{
				Code: http.StatusRequestEntityTooLarge, Reason: "RequestEntityTooLarge",
				Message: fmt.Sprintf(
					"the answers of all sites have more than %d MiB: ask for one namespace (-n)", maxAnswers>>20,
				),
			}
		}
		text = append(text, buffer[:n]...)
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// late says that a target had too little time.
func late(message string) *exchange.Fault {
	return &exchange.Fault{
		Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", After: retryAfter, Message: message,
	}
}

// of returns the fault that an error is, with the site's name in its message.
func of(site string, err error) *exchange.Fault {
	f := *exchange.FaultOf(err)
	if !strings.Contains(f.Message, site) {
		f.Message = "site " + site + ": " + f.Message
	}
	return &f
}

// retryAfter is when a client may ask again for what is away, in seconds.
const retryAfter = 10

// refusal is what a site said instead of what was asked for.
func refusal(site string, resp *http.Response) *exchange.Fault {
	var said struct{ Kind, Message, Reason string }
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil || json.Unmarshal(text, &said) != nil || said.Kind != "Status" || said.Message == "" {
		said.Message, said.Reason = http.StatusText(resp.StatusCode), ""
	}
	f := &exchange.Fault{Code: resp.StatusCode, Reason: said.Reason, Message: "site " + site + ": " + said.Message}
	if resp.StatusCode < http.StatusBadRequest { // a success of another kind
		f = &exchange.Fault{
			Code: http.StatusBadGateway, Reason: "InternalError",
			Message: fmt.Sprintf("site %s answers with code %d", site, resp.StatusCode),
		}
	}
	if resp.Header.Get("Retry-After") != "" {
		f.After = retryAfter
	}
	return f
}
