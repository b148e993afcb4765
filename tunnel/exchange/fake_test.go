package exchange

import (
	"context"
	"net/url"
	"os"
	"testing"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/pipe"
)

func TestMain(m *testing.M) {
	leak.Main(m)
	os.Exit(0)
}

// pair returns both ends of a stream: the parent has opened it.
func pair(t *testing.T) (parent, child tunnel.Stream) {
	t.Helper()
	down, up := pipe.New(pipe.Options{})
	t.Cleanup(func() { down.Close(nil); up.Close(nil) })
	parent, err := up.OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan tunnel.Stream, 1)
	go func() {
		s, _ := down.AcceptStream(context.WithoutCancel(t.Context()))
		accepted <- s
	}()
	if _, err := parent.Write(nil); err != nil {
		t.Fatal(err)
	}
	return parent, <-accepted
}

func logOf(follow bool) *Request {
	r := &Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      Log,
		Query:     url.Values{},
	}
	if follow {
		r.Query.Set("follow", "true")
	}
	return r
}

func execOf(command ...string) *Request {
	return &Request{
		Space:     "shop",
		Namespace: "web",
		Pod:       "app-1",
		UID:       "u-1",
		Verb:      Exec,
		Query:     url.Values{"command": command, "stdin": {"true"}},
		Upgrade: map[string][]string{
			"Connection":            {"Upgrade"},
			"Upgrade":               {"websocket"},
			"Sec-Websocket-Version": {"13"},
			"Sec-Websocket-Key": {
				"AAAAAAAAAAAAAAAAAAAAAA==",
			},
			"Sec-Websocket-Protocol": {"v5.channel.k8s.io"},
		},
	}
}
