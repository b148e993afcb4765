package webhook

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"skerry.dev/skerry/server/apiserver/outbound"
)

// A webhook by URL gets its key, no redirect is followed, and it is called where the rules allow alone.
func TestPost(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("key\n" + r.Header.Get("Idempotency-Key") + strings.Repeat("x", 10_000)))
	}))
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	local, err := outbound.Parse([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	open, shut := New(Config{Outbound: outbound.New(local, nil)}), New(Config{Outbound: outbound.New(nil, nil)})
	post := func(c *Callers, to Endpoint) (int, string, error) { return c.Post(t.Context(), to, "k1", []byte("{}")) }

	code, said, err := post(open, Endpoint{URL: server.URL, CABundle: bundle})
	if err != nil || code != http.StatusTeapot || !strings.HasPrefix(said, "key k1xx") || len(said) > maxSaid {
		t.Errorf("%d %q %v", code, said, err)
	}
	if code, _, err := post(open, Endpoint{URL: server.URL + "/elsewhere", CABundle: bundle}); err != nil ||
		code != http.StatusFound {
		t.Errorf("a redirect: %d %v", code, err)
	}
	for what, err := range map[string]error{
		"an address that is not allowed": second(post(shut, Endpoint{URL: server.URL, CABundle: bundle})),
		"a certificate of another":       second(post(open, Endpoint{URL: server.URL})),
		"a bundle without certificates":  second(post(open, Endpoint{URL: server.URL, CABundle: []byte("none")})),
		"a Service, without sites":       second(post(open, Endpoint{Service: &Service{"shop", "a", "b", 443}})),
	} {
		if err == nil {
			t.Errorf("%s is called", what)
		}
	}
}

func second(_ int, _ string, err error) error { return err }
