package webhook

import (
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// TestBadAnswers: each is an error that says what is wrong, and where.
func TestBadAnswers(t *testing.T) {
	_, otherBundle := newAuthority("others")
	fault := func(code int, says string) func(*sites) {
		return func(s *sites) { s.faults["oslo"] = &exchange.Fault{Code: code, Message: says} }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		before func(*sites)
		ca     []byte
		want   []string
	}{
		"another authority": {says("x"), nil, otherBundle, []string{"site oslo", "hook-1", "x509"}},
		"no authority":      {says("x"), nil, nil, []string{"site oslo", "hook-1", "x509"}},
		"another name": {says("x"), func(s *sites) {
			s.behind[shopHook] = nil
			s.runsWith(shopHook, "oslo", "hook-1", 0, serving(s.t, "hook.other.svc"), says("x"))
		}, bundle, []string{"hook.web.svc"}},
		"a redirect": {
			http.RedirectHandler("https://169.254.169.254/", http.StatusFound).ServeHTTP, nil, bundle,
			[]string{"site oslo", "answers 302", "no redirects"},
		},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			for block := make([]byte, 1<<16); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, nil, bundle, []string{"larger than 3072 KiB"}},
		"huge, and says so": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000")
			w.WriteHeader(200)
		}, nil, bundle, []string{"larger than"}},
		"slow": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil, bundle,
			[]string{"site oslo", "no answer in time", "after 5"}},
		"nobody listens": {says("x"), func(s *sites) { s.pods["oslo/hook-1"].server.Close() }, bundle,
			[]string{"site oslo", "closed the connection", "port 8443"}},
		"not ready": {says("x"), fault(409, "pod web/hook-1 is not ready"), bundle,
			[]string{"site oslo", "is not ready"}},
		"not allowed": {says("x"), fault(403, "the site does not allow this"), bundle,
			[]string{"site oslo", "does not allow"}},
		"away": {says("x"), fault(503, "it has no session"), bundle,
			[]string{"site oslo", "no session"}},
		"no pods": {says("x"), func(s *sites) { s.behind[shopHook] = nil }, bundle,
			[]string{`no endpoints available for service "hook": nobody`}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSites(t)
				s.runs(shopHook, "oslo", "hook-1", 0, c.answer)
				if c.before != nil {
					c.before(s)
				}
				text, err := call(t.Context(), client(t, s.callers(), shopHook, "/", c.ca), "")
				if err == nil {
					t.Fatalf("it answers %.80q", text)
				}
				for _, w := range c.want {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("%v\nhas no %q", err, w)
					}
				}
			})
		})
	}
}

// TestNotAsked: only the placement changes, and the sites of the webhook are away: it has no
// objection. In every other case it has to be asked.
func TestNotAsked(t *testing.T) {
	t.Parallel()
	const review = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"r-1"}}`
	away := func(s *sites) { s.faults["oslo"] = &exchange.Fault{Code: 503, Message: "no session"} }
	for name, c := range map[string]struct {
		places bool
		before func(*sites)
		body   string
		passes bool
	}{
		"away":                    {true, away, review, true},
		"away, another write":     {false, away, review, false},
		"away, another review":    {true, away, strings.Replace(review, "Admission", "Conversion", 1), false},
		"no site":                 {true, func(s *sites) { s.none[shopHook] = &NoBackend{Away: true} }, review, true},
		"no pods at a known site": {true, func(s *sites) { s.none[shopHook] = &NoBackend{} }, review, false},
		"not ready": {true, func(s *sites) {
			s.faults["oslo"] = &exchange.Fault{Code: 409, Message: "not ready"}
		}, review, false},
		"one of two is away": {true, func(s *sites) {
			s.runs(shopHook, "paris", "hook-2", 0, says("x"))
			s.faults["paris"] = &exchange.Fault{Code: 409, Message: "not ready"}
			away(s)
		}, review, false},
		"it objects":           {true, func(*sites) {}, review, false},
		"says nothing":         {true, func(s *sites) { s.silent["oslo"] = true }, review, true},
		"its pod says nothing": {true, func(s *sites) { s.mute["oslo"] = true }, review, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSites(t)
				s.runs(shopHook, "oslo", "hook-1", 0, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(500)
				})
				c.before(s)
				ctx := t.Context()
				if c.places {
					ctx = WithPlacesOnly(ctx)
				}
				text, err := call(ctx, client(t, s.callers(), shopHook, "/", bundle), c.body)
				if (err == nil) != c.passes {
					t.Fatalf("%q, %v", text, err)
				}
				if c.passes && (!strings.Contains(text, `"uid":"r-1"`) || !strings.Contains(text, `"allowed":true`) ||
					!strings.Contains(text, "its site is away")) {
					t.Errorf("%s", text)
				}
			})
		})
	}
}
