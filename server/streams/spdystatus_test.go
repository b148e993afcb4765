package streams

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"skerry.dev/skerry/tunnel/exchange"
)

// command is what runs at a site: it has its output and its error stream.
type command func(t *testing.T, out, status httpstream.Stream, conn net.Conn)

// commandAt answers a request with a command, and speaks a version of the protocol.
func commandAt(t *testing.T, version string, run command) exchange.Answer {
	return func(context.Context, *exchange.Request) (*http.Response, error) {
		near, far := net.Pipe()
		streams := make(chan httpstream.Stream, 2)
		conn, err := spdy.NewServerConnection(far, func(s httpstream.Stream, replied <-chan struct{}) error {
			go func() { <-replied; streams <- s }()
			return nil
		})
		if err != nil {
			return nil, err
		}
		go func() {
			defer conn.Close()
			byType := map[string]httpstream.Stream{}
			for range 2 {
				s := <-streams
				byType[s.Headers().Get(corev1.StreamType)] = s
			}
			run(t, byType[corev1.StreamTypeStdout], byType[corev1.StreamTypeError], far)
			far.Close()
		}()
		return &http.Response{StatusCode: 101, Body: near, Header: http.Header{"Connection": {"Upgrade"},
			"Upgrade": {"SPDY/3.1"}, "X-Stream-Protocol-Version": {version}}}, nil
	}
}

func say(t *testing.T, to interface{ Write([]byte) (int, error) }, text string) {
	if _, err := to.Write([]byte(text)); err != nil {
		t.Error(err)
	}
}

// TestLostCommand: a client over SPDY is told that the site was lost before the command has ended,
// and of a command that has ended what the site says.
func TestLostCommand(t *testing.T) {
	const lost = "the connection to site oslo broke off"
	for name, c := range map[string]struct {
		version, out, err string
		run               command
	}{
		"it ends": {"v4.channel.k8s.io", "all", "", func(t *testing.T, out, status httpstream.Stream, _ net.Conn) {
			say(t, out, "all")
			say(t, status, `{"status":"Success"}`)
		}},
		"it fails": {"v4.channel.k8s.io", "", "command terminated with exit code 3",
			func(t *testing.T, _, status httpstream.Stream, _ net.Conn) {
				say(t, status, `{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":`+
					`[{"reason":"ExitCode","message":"3"}]}}`)
			}},
		"it is lost": {"v4.channel.k8s.io", "half", lost, func(t *testing.T, out, _ httpstream.Stream, _ net.Conn) {
			say(t, out, "half")
		}},
		"it is lost, v5": {"v5.channel.k8s.io", "", lost, func(*testing.T, httpstream.Stream, httpstream.Stream,
			net.Conn) {
		}},
		"it is lost within a frame": {"v4.channel.k8s.io", "halfx\x00\x00", lost,
			func(t *testing.T, out, _ httpstream.Stream, conn net.Conn) {
				say(t, out, "half")
				say(t, conn, "\x00\x00\x00"+string(byte(out.Identifier()))+"\x00\x00\x00\x03x")
			}},
		"it is lost within a head": {"v4.channel.k8s.io", "", "",
			func(t *testing.T, _, _ httpstream.Stream, conn net.Conn) { say(t, conn, "\x00\x00") }},
		"a version without a Status": {"v2.channel.k8s.io", "", "",
			func(*testing.T, httpstream.Stream, httpstream.Stream, net.Conn) {}},
	} {
		t.Run(name, func(t *testing.T) {
			streams := New(Config{SpaceUID: uidOf, Targets: sites{commandAt(t, c.version, c.run)}})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				r := execOf()
				var err error
				if r.Upgrade, err = exchange.Upgrade(req.Header); err != nil {
					t.Error(err)
				}
				streams.Serve(w, req, "oslo", r, func(string, int) {})
			}))
			defer server.Close()
			at, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			client, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: server.URL}, http.MethodPost, at)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err = client.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out})
			if out.String() != c.out || (err == nil) != (c.err == "") ||
				err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q, %v", out.String(), err)
			}
			if code := (exec.CodeExitError{}); errors.As(err, &code) != (name == "it fails") {
				t.Errorf("an exit code: %v", err)
			}
		})
	}
}

// TestNothingBehindAHalf: what would be taken for the rest of something else is not said.
func TestNothingBehindAHalf(t *testing.T) {
	for sent, tells := range map[string]bool{
		"":                                         true,
		"\x00\x00\x00\x03\x00\x00\x00\x02x":        true,
		"\x00\x00":                                 false,
		"\x80\x03\x00\x02\x00\x00\x00\x08\x00":     false,
		"\x00\x00\x00\x01\x00\x00\x00\x02{}":       false,
		"\x00\x00\x00\x01\x00\x00\x00\x02{":        true,
		"\x80\x03\x00\x02\x00\x00\x00\x02\x00\x00": true,
	} {
		var s spdyStatus
		s.pass([]byte(sent))
		var said bytes.Buffer
		if s.tell(&said, "oslo"); said.Len() > 0 != tells {
			t.Errorf("%q: %q", sent, said.String())
		}
	}
}

// FuzzSPDYStatus: it does not matter in which pieces the frames come.
func FuzzSPDYStatus(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x02{}\x80\x03\x00\x02\x00\x00\x00\x00"), 3)
	f.Add([]byte("\x00\x00\x00\x03\x01\xff\xff\xff"), 1)
	f.Fuzz(func(t *testing.T, frames []byte, piece int) {
		var whole, pieces spdyStatus
		whole.pass(frames)
		for rest := frames; len(rest) > 0; {
			n := min(max(1, piece), len(rest))
			pieces.pass(rest[:n])
			rest = rest[n:]
		}
		if whole.said != pieces.said || whole.left != pieces.left || whole.of != pieces.of ||
			!bytes.Equal(whole.head, pieces.head) || len(whole.head) >= frameHead || whole.left >= 1<<24 {
			t.Errorf("%+v, in pieces %+v", whole, pieces)
		}
	})
}
