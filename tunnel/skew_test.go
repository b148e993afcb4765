package tunnel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/tunneltest"
	"skerry.dev/skerry/tunnel/wire"
)

// speaks is a connection of a side of another version: what it writes on its streams is changed, frame by frame, to
// what such a side would write.
type speaks struct {
	tunnel.Conn
	rewrite func(t wire.Type, payload []byte) (frames []byte)
}

func (c speaks) OpenStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.Conn.OpenStream(ctx)
	return &speech{Stream: s, rewrite: c.rewrite, opens: 2}, err
}

func (c speaks) AcceptStream(ctx context.Context) (tunnel.Stream, error) {
	s, err := c.Conn.AcceptStream(ctx)
	return &speech{Stream: s, rewrite: c.rewrite}, err
}

type speech struct {
	tunnel.Stream
	rewrite func(t wire.Type, payload []byte) []byte
	opens   int // bytes before the first frame that are still to be written

	mu   sync.Mutex
	rest []byte
}

func (s *speech) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opening := min(s.opens, len(p))
	s.opens -= opening
	out := slices.Clone(p[:opening])
	s.rest = append(s.rest, p[opening:]...)
	for len(s.rest) > 0 {
		in := bytes.NewReader(s.rest)
		buffered := bufio.NewReaderSize(in, 16)
		t, payload, err := wire.ReadFrame(buffered, wire.MaxFrame)
		if err != nil {
			break // the rest of it follows
		}
		s.rest = s.rest[len(s.rest)-in.Len()-buffered.Buffered():]
		out = append(out, s.rewrite(t, payload)...)
	}
	if _, err := s.Stream.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// The frames that begin a session, as PROTOCOL.md numbers them.
const (
	frameHello      wire.Type = 32
	frameWelcome    wire.Type = 33
	frameConditions wire.Type = 43
	frameFuture     wire.Type = 120
)

// fields changes the JSON of a frame.
func fields(t wire.Type, payload []byte, change func(map[string]json.RawMessage)) []byte {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(payload, &all); err != nil {
		panic(fmt.Sprintf("frame %d: %v: %s", t, err, payload))
	}
	change(all)
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return wire.AppendFrame(nil, t, text)
}

// older says no more than a side of the version before does: no capability, and no field, that came later.
func older(t wire.Type, payload []byte) []byte {
	keep := map[wire.Type][]string{
		frameHello:      {"agentVersion", "kubernetesVersion", "relay", "clock", "dictionary"},
		frameWelcome:    {"incarnation", "centerVersion", "clock"},
		frameConditions: {"conditions"},
	}[t]
	switch {
	case keep != nil:
		return fields(t, payload, func(all map[string]json.RawMessage) {
			maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return !slices.Contains(keep, name) })
		})
	case t == wire.TypeResume:
		m, err := wire.DecodeResume(payload)
		if err != nil {
			panic(err)
		}
		return wire.AppendFrame(nil, t, wire.Resume{Position: m.Position, Root: m.Root}.Encode())
	case t == wire.TypeTrace:
		return nil
	}
	return wire.AppendFrame(nil, t, payload)
}

// newer says more than this version understands: fields, flags and frames.
func newer(t wire.Type, payload []byte) []byte {
	switch t {
	case frameHello, frameWelcome, frameConditions:
		said := fields(t, payload, func(all map[string]json.RawMessage) {
			all["inventedLater"] = json.RawMessage(`{"a":[1]}`)
		})
		return wire.AppendFrame(said, frameFuture, []byte(`{"b":2}`))
	case wire.TypeResume, wire.TypeStart:
		payload = slices.Clone(payload)
		payload[1] |= 1<<6 | 1<<5
	}
	return wire.AppendFrame(nil, t, payload)
}

// TestVersionSkew: sides of which one is older, or newer, have a session. What is desired goes down, reports go up,
// and the child's conditions are heard.
func TestVersionSkew(t *testing.T) {
	same := func(t wire.Type, payload []byte) []byte { return wire.AppendFrame(nil, t, payload) }
	for name, c := range map[string]struct {
		child, parent func(wire.Type, []byte) []byte
	}{
		"the same version":                      {same, same},
		"an older child":                        {older, same},
		"an older parent, which is not allowed": {same, older},
		"a newer child, which is not allowed":   {newer, same},
		"a newer parent":                        {same, newer},
		"both with words of their own":          {newer, newer},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				desired, inbox, feed, reported := storetest.NewMemory(), storetest.NewMemory(), feedOf(9, "x", "y"), feedOf(1, "a")
				heard := make(chan tunnel.ChildStatus, 100)
				childEnd, parentEnd := pipe.New(pipe.Options{})
				ended := make(chan error, 2)
				go func() {
					ended <- tunnel.ServeParent(ctx, speaks{parentEnd, c.parent}, tunneltest.Parent{Feed: feed, Inbox: inbox,
						OnStatus: func(s tunnel.ChildStatus) { heard <- s }}.Config())
				}()
				go func() {
					ended <- tunnel.ServeChild(ctx, speaks{childEnd, c.child}, tunnel.ChildConfig{Desired: desired, Reported: reported,
						Hello: tunnel.Hello{AgentVersion: "v1.3.0", Instance: "i", Dialled: "center:7443", Renames: true}})
				}()
				time.Sleep(10 * time.Second)
				change(feed, 12, "y", "z")
				change(reported, 2, "b")
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := len(desired.Live()); n != 3 {
					t.Errorf("%d objects came down, want 3", n)
				}
				if n := len(inbox.Live()); n != 2 {
					t.Errorf("%d reports came up, want 2", n)
				}
				select {
				case s := <-heard:
					if len(s.Conditions) == 0 {
						t.Errorf("heard %+v", s)
					}
				default:
					t.Error("nothing was heard of the child")
				}
				select {
				case err := <-ended:
					t.Errorf("the session ended: %v", err)
					ended <- err
				default:
				}
				cancel()
				<-ended
				<-ended
			})
		})
	}
}

// change changes objects of a feed.
func change(f *store.Feed, revision int64, names ...string) {
	for _, n := range names {
		f.Apply(revision, store.Change{Key: store.Key{Space: "s", Resource: "pods", Name: n},
			Hash: store.HashBody(revision, []byte("{}")), Generation: revision})
	}
}
