package webhook

import (
	"io"
	"net/http"
	"testing"
)

// TestByURL: webhooks by URL are called where the rules allow, and their answers are bounded, too.
func TestByURL(t *testing.T) {
	s := newSites(t)
	config, err := s.callers().For("shop")(nil).ClientConfigFor("")
	if err != nil {
		t.Fatal(err)
	}
	rt := config.WrapTransport(endless{})
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://hooks.example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > minAnswer {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// endless answers without an end.
type endless struct{}

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, ContentLength: -1, Body: endless{}}, nil
}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func (endless) Close() error { return nil }
