package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/tunnel/exchange"
)

// breaking is a body that ends with an error.
type breaking struct {
	io.Reader
	err error
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

func (*breaking) Close() error { return nil }

// oneLog has one log at one site.
type oneLog struct{ err error }

func (s oneLog) Do(context.Context, string, *exchange.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200,
		Header:     http.Header{exchange.HeaderSite: {"nordic/oslo"}},
		Body:       &breaking{strings.NewReader("a line\nhalf a li"), s.err},
	}, nil
}

func (oneLog) Serve(
	http.ResponseWriter,
	*http.Request,
	string,
	*exchange.Request,
	func(string, int),
) {
}

// TestBrokenLog: a client of a log that breaks off is told so, and gets an error; a whole log ends
// as it does at the site. Both over HTTP/1.1 and HTTP/2.
func TestBrokenLog(t *testing.T) {
	for _, version := range []int{1, 2} {
		for name, c := range map[string]struct {
			err  error
			want string
		}{
			"whole": {io.EOF, "a line\nhalf a li"},
			"broken": {errors.New("a cable was cut"), "a line\nhalf a li\n" +
				"[the log breaks off here: site nordic/oslo, or the way to it, has failed: a cable was cut]\n"},
		} {
			t.Run(fmt.Sprintf("%s over HTTP/%d", name, version), func(t *testing.T) {
				server := httptest.NewUnstartedServer(
					http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						l := &siteLog{at: siteObjects{sites: oneLog{c.err}}, target: "nordic"}
						log, flush, _, err := l.InputStream(
							response.WithWriter(w, r).Context(),
							"",
							"",
						)
						if err != nil || !flush {
							t.Error(flush, err)
							return
						}
						defer log.Close()
						// As upstream does it.
						buffer := make([]byte, 10)
						for {
							n, err := log.Read(buffer)
							_, _ = w.Write(buffer[:n])
							w.(http.Flusher).Flush()
							if err != nil {
								return
							}
						}
					}),
				)
				server.EnableHTTP2 = version == 2
				server.StartTLS()
				defer server.Close()
				resp, err := server.Client().Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				got, err := io.ReadAll(resp.Body)
				if string(got) != c.want || resp.ProtoMajor != version {
					t.Errorf("%s: %q", resp.Proto, got)
				}
				if (err == nil) != (c.err == io.EOF) {
					t.Errorf("the client is told: %v", err)
				}
			})
		}
	}
}
