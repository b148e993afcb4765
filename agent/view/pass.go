package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

const (
	// maxRefusal bounds what is read of an answer that is no success.
	maxRefusal = 64 << 10
	// maxAnswer bounds an answer that has to be read as a whole.
	maxAnswer = 16 << 20
)

// query are the options of a list or a watch as the API server is to have them.
func (a *asked) query(at here) url.Values {
	q := url.Values{}
	for _, name := range exchange.ListOptions {
		if a.Query.Has(name) {
			q.Set(name, a.Query.Get(name))
		}
	}
	if at.owns != nil && q.Get("includeObject") == "None" {
		q.Del("includeObject") // what is returned has to be looked at
	}
	if selector := q.Get("fieldSelector"); selector != "" {
		q.Set("fieldSelector", at.mapping.SelectorThere(a.key, selector))
	}
	if a.Watches() {
		q.Set("watch", "true")
	}
	return q
}

func (a *asked) accept() string {
	if a.Query.Get(exchange.OptionForm) == exchange.FormTable {
		return table
	}
	return plain
}

// pass sends a request about one namespace and returns the answer with the space's names.
func (a *asked) pass(ctx context.Context, at here, namespace, name string) (*http.Response, error) {
	resp, err := a.client.Open(
		ctx,
		target.Reading{
			Resource:  a.resource,
			Namespace: namespace,
			Name:      name,
			Query:     a.query(at),
			Accept:    a.accept(),
		},
	)
	if err != nil {
		return nil, unreachable(err)
	}
	resp, err = inJSON(resp, at)
	var f *exchange.Fault
	switch {
	case at.owns != nil && name != "" && errors.As(err, &f) && f.Code == http.StatusNotFound:
		return nil, a.notShown(at, name) // in the words about one that is the site's
	case err != nil:
		return nil, err
	}
	if at.mapping == "" && at.owns == nil {
		return a.bounded(resp)
	}
	if a.Watches() {
		resp.Body, resp.ContentLength = &translated{
			from:   resp.Body,
			events: json.NewDecoder(resp.Body),
			a:      a,
			at:     at,
			seen:   seen{},
		}, -1
		return a.bounded(resp)
	}
	defer resp.Body.Close()
	text, err := whole(resp.Body, maxAnswer)
	if err != nil {
		return nil, err
	}
	if text, err = a.here(at, name, text); err != nil {
		return nil, err
	}
	return a.bounded(answer(resp.Header.Get("Content-Type"), text))
}

// inJSON returns an answer with nothing but JSON. One that is no success becomes an error: what the
// API server has against the agent is not the client's fault.
func inJSON(resp *http.Response, at here) (*http.Response, error) {
	kind := resp.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(kind)
	isJSON := err == nil && media == plain
	if resp.StatusCode == http.StatusOK && isJSON {
		header := http.Header{"Content-Type": {kind}}
		return &http.Response{
			StatusCode:    http.StatusOK,
			Header:        header,
			Body:          resp.Body,
			ContentLength: resp.ContentLength,
		}, nil
	}
	defer resp.Body.Close()
	var said struct{ Kind, Message, Reason string }
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil || !isJSON || json.Unmarshal(text, &said) != nil || said.Kind != "Status" {
		said.Message, said.Reason = "", ""
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized:
		return nil, unreachable(errCredentials)
	case code < 400 || code > 599:
		return nil, fault(
			http.StatusBadGateway,
			"InternalError",
			"the site's API server answers with code %d and %.80q, not with JSON",
			code,
			kind,
		)
	case said.Message == "":
		return nil, fault(code, "", "the site's API server says %d %s", code, http.StatusText(code))
	default:
		return nil, fault(
			code,
			said.Reason,
			"the site's API server says: %s",
			at.mapping.Words(at.name, said.Message),
		)
	}
}

var errCredentials = errors.New("it does not accept the agent's credentials")

// whole reads a body that has to be held as a whole.
func whole(from io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if int64(len(text)) > most {
		return nil, fault(
			http.StatusRequestEntityTooLarge,
			"RequestEntityTooLarge",
			"the answer has more than %d MiB: ask for one namespace (-n), or for less (kubectl --chunk-size, -l)",
			maxAnswer>>20,
		)
	}
	return text, nil
}

func answer(kind string, text []byte) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text))}
}

// here leaves of an object, a list, or a table what is shown, and puts the space's names into it.
func (a *asked) here(at here, name string, text []byte) ([]byte, error) {
	var o map[string]any
	if err := decode(text, &o); err != nil {
		return nil, unreachable(err)
	}
	isList := !a.Query.Has(exchange.OptionName)
	if !at.keep(o, isList) {
		return nil, a.notShown(at, name)
	}
	a.rename(at, o, isList)
	return json.Marshal(o)
}

// rename puts the space's names into what an answer holds: a list, or one object.
func (a *asked) rename(at here, o map[string]any, isList bool) {
	switch {
	case at.mapping == "":
	case o["kind"] == "Status":
		message, _ := o["message"].(string)
		o["message"] = at.mapping.Words(at.name, message)
	case o["kind"] == "Table":
		rows, _ := o["rows"].([]any)
		for _, row := range rows {
			a.renameRow(at, row)
		}
	case isList:
		items, _ := o["items"].([]any)
		for _, item := range items {
			if item, ok := item.(map[string]any); ok {
				at.mapping.ObjectHere(a.key, item)
			}
		}
	default:
		at.mapping.ObjectHere(a.key, o)
	}
}

func (a *asked) renameRow(at here, v any) {
	row, _ := v.(map[string]any)
	if object, ok := row["object"].(map[string]any); ok {
		at.mapping.ObjectHere(a.key, object)
	}
	cells, _ := row["cells"].([]any)
	if a.ofNamespaces() && len(cells) > 0 && cells[0] == at.there {
		cells[0] = at.name
	}
}

// translated are the events of a watch that are shown, with the space's names, each made when it is read.
type translated struct {
	from   io.ReadCloser
	events *json.Decoder
	a      *asked
	at     here
	seen   seen
	ready  bytes.Buffer
}

// Read implements io.Reader.
func (t *translated) Read(p []byte) (int, error) {
	for t.ready.Len() == 0 {
		t.events.UseNumber()
		var event map[string]any
		if err := t.events.Decode(&event); err != nil {
			return 0, err
		}
		if object, ok := event["object"].(map[string]any); ok {
			kind, _ := event["type"].(string)
			if !t.seen.event(t.at, kind, object) {
				continue
			}
			t.a.rename(t.at, object, false)
		}
		if err := json.NewEncoder(&t.ready).Encode(event); err != nil {
			return 0, err
		}
	}
	return t.ready.Read(p)
}

// Close implements io.Closer.
func (t *translated) Close() error { return t.from.Close() }
