package view

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"skerry.dev/skerry/tunnel/exchange"
)

// mostOf returns how many bytes an answer that has to be held as a whole may have.
func mostOf(r *exchange.Request) int64 {
	if limit, limited := r.Limit(); limited {
		return min(limit, maxAnswer)
	}
	return maxAnswer
}

// errTooLarge refuses an answer of which no part would be of use.
func errTooLarge(most int64) error {
	return fault(
		http.StatusRequestEntityTooLarge,
		"RequestEntityTooLarge",
		"the answer has more than %d KiB, which is what a metered link carries: ask where the link is not",
		most>>10,
	)
}

// bounded returns an answer with no more bytes than the request says; of a list as many objects as
// these hold, and a warning. The answer is closed if there is an error.
func (a *asked) bounded(resp *http.Response) (*http.Response, error) {
	limit, limited := a.Limit()
	if !limited {
		return resp, nil
	}
	if a.Watches() {
		resp.Body, resp.ContentLength = &limitedEvents{from: resp.Body, left: limit, limit: limit}, -1
		return resp, nil
	}
	defer resp.Body.Close()
	text, err := whole(resp.Body, maxAnswer)
	if err != nil {
		return nil, err
	}
	kind := resp.Header.Get("Content-Type")
	if int64(len(text)) <= limit {
		return answer(kind, text), nil
	}
	if a.Query.Has(exchange.OptionName) {
		return nil, errTooLarge(limit)
	}
	var all listed
	if err := decode(text, &all); err != nil {
		return nil, unreachable(err)
	}
	return all.answer(kind, limit, a)
}

// answer encodes a list, cut so that it has no more bytes than most, and then with a warning.
func (l *listed) answer(kind string, most int64, a *asked) (*http.Response, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, unreachable(err)
	}
	if int64(len(text)) <= most {
		return answer(kind, text), nil
	}
	objects := l.Items
	if l.Rows != nil {
		objects = l.Rows
	}
	if objects == nil {
		return nil, errTooLarge(most)
	}
	all := *objects
	total, open := int64(len(all))+l.Metadata.Remaining, l.Metadata.Continue != "" && l.Metadata.Remaining == 0
	*objects, l.Metadata = []map[string]any{}, listMeta{Remaining: total}
	if text, err = json.Marshal(l); err != nil {
		return nil, unreachable(err)
	}
	for left, n := most-int64(len(text)), 0; n < len(all); n++ {
		one, err := json.Marshal(all[n])
		if err != nil {
			return nil, unreachable(err)
		}
		if left -= int64(len(one)) + 1; left < 0 {
			break
		}
		*objects = all[:n+1]
	}
	shown := len(*objects)
	l.Metadata.Remaining = total - int64(shown)
	if text, err = json.Marshal(l); err != nil {
		return nil, unreachable(err)
	}
	of := strconv.FormatInt(total, 10)
	if open {
		of = "more than " + of
	}
	warning := fmt.Sprintf("%d of %s %s are shown: the list is cut after %d KiB, because a link is metered; ask for less",
		shown, of, a.resource.Plural, most>>10)
	if a.Namespace == "" && !a.ofNamespaces() {
		warning += " (-n, -l)"
	} else {
		warning += fmt.Sprintf(" (-l, a name), or for all in smaller parts (--chunk-size=%d)", max(1, shown/2))
	}
	out := answer(kind, text)
	exchange.SetWarnings(out.Header, []string{warning})
	return out, nil
}

// limitedEvents are the events of a watch, whole ones, until they have as many bytes as they may. The
// last one says that there are more.
type limitedEvents struct {
	from        io.ReadCloser
	lines       *bufio.Reader
	left, limit int64
	ready       []byte
	over        bool
}

// Read implements io.Reader.
func (e *limitedEvents) Read(p []byte) (int, error) {
	if e.lines == nil {
		e.lines = bufio.NewReader(e.from)
	}
	for len(e.ready) == 0 {
		if e.over {
			return 0, io.EOF
		}
		if err := e.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

// next reads an event: a line. One that is longer than what is left is not kept.
func (e *limitedEvents) next() error {
	for {
		part, err := e.lines.ReadSlice('\n')
		if e.left -= int64(len(part)); e.left < 0 {
			e.over = true
			e.ready = fmt.Appendf(nil, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},`+
				`"status":"Failure","code":413,"reason":"RequestEntityTooLarge","message":"the watch ends after %d KiB, `+
				`because a link is metered; watch again, or less (-l, a name)"}}`+"\n", e.limit>>10)
			return nil
		}
		e.ready = append(e.ready, part...)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			e.ready = nil // half an event
			return err
		}
	}
}

// Close implements io.Closer.
func (e *limitedEvents) Close() error { return e.from.Close() }
