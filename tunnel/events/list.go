package events

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// listTime is how long a list may take: someone waits for what is known already.
	listTime = 3 * time.Second
	// maxPlaces is how many targets are asked for one list, all side by side.
	maxPlaces = 16
	// maxRefusal bounds what is read of an answer that is no success, in bytes.
	maxRefusal = 64 << 10
)

// Result is what targets said.
type Result struct {
	// Events are sorted by name.
	Events []Found
	// Lacks says what the list lacks, one text for each reason, sorted.
	Lacks []string
	// Sites are the targets that answered, each with those below it that the answer came through.
	Sites []string
}

// Found is what a target says of an object. The Event has the name that it has in the space.
type Found struct {
	Place Place
	Event Event
}

// Asks reports whether a view reads the Events of one object, and of which.
func Asks(r *exchange.Request) (kind, name string, asks bool) {
	if r.Verb != exchange.View {
		return "", "", false
	}
	return strings.Cut(r.Query.Get(exchange.OptionAbout), "/")
}

// List asks for the Events about objects of one namespace at their places. From says who asks, and
// for which space and namespace.
func List(
	ctx context.Context,
	targets exchange.Sites,
	from *exchange.Request,
	places []Place,
) (out Result) {
	within, cancel := bounded(ctx)
	defer cancel()
	if more := len(places) - maxPlaces; more > 0 {
		places = places[:maxPlaces]
		out.Lacks = append(out.Lacks, fmt.Sprintf(
			"of %d further places only the events that they have reported are shown: one list asks %d; "+
				"look at a site itself (kubectl --context SPACE@SITE)", more, maxPlaces))
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, p := range places {
		all.Go(func() {
			found, warnings, site, err := ask(within, targets, view(from, p), p.At.Target)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				f := exchange.FaultOf(err)
				if within.Err() != nil {
					f = &exchange.Fault{Message: "it has not answered in time"}
				}
				if f.Code != http.StatusNotFound { // the object is not there, and nothing is said of it
					out.lack(p.At.Target, f.Message)
				}
				return
			}
			out.Sites = append(out.Sites, site)
			for _, text := range warnings {
				out.Lacks = append(out.Lacks, "site "+site+": "+text)
			}
			for _, e := range found {
				e.Name = Name(p.At.Target, e.Name, p.Kind, p.Name)
				out.Events = append(out.Events, Found{p, e})
			}
		})
	}
	all.Wait()
	slices.SortFunc(out.Events, func(a, b Found) int {
		return cmp.Compare(a.Event.Name, b.Event.Name)
	})
	slices.Sort(out.Lacks)
	out.Lacks = slices.Compact(out.Lacks)
	slices.Sort(out.Sites)
	return out
}

func (r *Result) lack(target, why string) {
	const text = "%s: only the events that it has reported are shown: %s"
	r.Lacks = append(r.Lacks, fmt.Sprintf(text, target, why))
}

// bounded returns a context for asking targets. It ends before ctx does, so that what was said
// until then still reaches whoever asks: the tier above waits as long as ctx lasts.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	most := listTime
	if end, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(end)*3/4)
	}
	return context.WithTimeout(ctx, most)
}

// view is the request for the Events about an object at one place.
func view(from *exchange.Request, p Place) *exchange.Request {
	return &exchange.Request{
		Space: from.Space, Namespace: from.Namespace, Verb: exchange.View,
		UID: p.At.UID, Origin: p.At.Origin,
		User: from.User, Groups: from.Groups,
		Query: url.Values{
			exchange.OptionVersion:  {"v1"},
			exchange.OptionResource: {"events"},
			exchange.OptionAbout:    {p.Kind + "/" + p.At.Pod},
			exchange.OptionLimit:    {strconv.Itoa(maxAnswer)},
		},
	}
}

// ask asks one target. Site are the targets that the answer came through, with slashes between
// them.
func ask(ctx context.Context, targets exchange.Sites, r *exchange.Request, target string) (
	all []Event, warnings []string, site string, err error,
) {
	if end, ok := ctx.Deadline(); ok {
		r.Timeout = max(time.Millisecond, time.Until(end))
	}
	resp, err := targets.Do(ctx, target, r)
	if err != nil {
		return nil, nil, target, err
	}
	defer resp.Body.Close()
	site = target
	if at := resp.Header.Get(exchange.HeaderSite); at != "" {
		site = at
	}
	if resp.StatusCode != http.StatusOK {
		return nil, nil, site, refusal(site, resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, nil, site, err
	}
	if len(text) > maxAnswer {
		return nil, nil, site, fmt.Errorf("%w: site %s has sent more than %d KiB",
			exchange.ErrAnswer, site, maxAnswer>>10)
	}
	all, err = Decode(text)
	return all, exchange.Warnings(resp.Header), site, err
}

// refusal is what a site said instead of what was asked for.
func refusal(site string, resp *http.Response) *exchange.Fault {
	var said struct{ Kind, Message, Reason string }
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil || said.Kind != "Status" || said.Message == "" {
		said.Message, said.Reason = "it answers with code "+strconv.Itoa(resp.StatusCode), ""
	}
	if !strings.Contains(said.Message, site) {
		said.Message = "site " + site + ": " + said.Message
	}
	return &exchange.Fault{
		Code: max(resp.StatusCode, http.StatusBadRequest), Reason: said.Reason, Message: said.Message,
	}
}
