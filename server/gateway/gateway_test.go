package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

func TestMain(m *testing.M) { leak.Main(m) }

// fakeAPI is the API of one center: it knows the tokens that begin with its name.
type fakeAPI struct{ name string }

func (a fakeAPI) FromSite(space, site string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s: %s of %s asks %s, headers %d", a.name, site, space, r.URL.Path, len(r.Header))
	})
}

func (a fakeAPI) IssueForSite(_ context.Context, space, namespace, account, site string) (string, time.Time, error) {
	if account == "gone" {
		return "", time.Time{}, errors.New("not found")
	}
	return strings.Join([]string{a.name, space, namespace, account, site}, "|"), time.Now().Add(time.Hour), nil
}

func (a fakeAPI) Issued(token string) bool { return strings.HasPrefix(token, a.name+"|") }

// runs are which accounts of the space shop a target runs: here, above.
type runs map[string][2]bool

func (r runs) as(target, space, namespace, account string) (here, above bool) {
	found := r[target+" "+namespace+"/"+account]
	return found[0] && space == "shop", found[1] && space == "shop"
}

// center returns how a child of a center asks it.
func center(t *testing.T, name, child string, parent upward.Opener, r runs) upward.Opener {
	t.Helper()
	return below(t, fakeAPI{name}, child, parent, r.as)
}

// family is a center above a relay above a site.
func family(t *testing.T) (*http.Transport, upward.Opener) {
	top := center(t, "top", "nordic", nil, runs{"nordic app/op": {true, false},
		"nordic app/both": {true, false}, "nordic app/gone": {true, false}})
	relay := center(t, "relay", "oslo", top, runs{
		"oslo app/op": {false, true}, "oslo app/own": {true, false}, "oslo app/both": {true, true},
		"oslo app/stray": {false, true}, "oslo app/gone": {false, true},
	})
	return upward.NewTransport(relay), top
}

func TestTokensComeFromTheHome(t *testing.T) {
	site, _ := family(t)
	for _, c := range []struct {
		account, token string
		code           int
	}{
		{"op", "top|shop|app|op|nordic/oslo", 0},
		{"own", "relay|shop|app|own|oslo", 0},
		{"both", "top|shop|app|both|nordic/oslo", 0},
		{"none", "", http.StatusForbidden},          // no workload at this site
		{"stray", "", http.StatusForbidden},         // the relay says so, the center knows of none
		{"gone", "", http.StatusServiceUnavailable}, // its account is not there
	} {
		got, err := upward.AskToken(t.Context(), site, "shop", "", upward.TokenRequest{Namespace: "app", Account: c.account})
		if c.code == 0 && (err != nil || got.Token != c.token) {
			t.Errorf("%s: %q, %v", c.account, got.Token, err)
		}
		if c.code != 0 && (err == nil || exchange.FaultOf(err).Code != c.code) {
			t.Errorf("%s: %q, %v", c.account, got.Token, err)
		}
	}
	if _, err := upward.AskToken(t.Context(), site, "other", "",
		upward.TokenRequest{Namespace: "app", Account: "op"}); err == nil {
		t.Error("a token of another space")
	}
}

func TestRequestsReachWhoSignedTheirToken(t *testing.T) {
	site, _ := family(t)
	for token, want := range map[string]string{
		"top|x":    "top: nordic/oslo of shop asks /clusters/other/api, headers ",
		"relay|x":  "relay: oslo of shop asks /clusters/other/api, headers ",
		"nonsense": "top: nordic/oslo of shop",
		"":         "top: nordic/oslo of shop",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://parent/clusters/other/api", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = upward.Request(http.Header{"Authorization": {"Bearer " + token}}, "shop", "")
		resp, err := site.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.HasPrefix(string(got), want) {
			t.Errorf("%q: %s", token, got)
		}
	}
}

// A child that breaks the rules is told so, and nothing is asked for it.
func TestARequestWithoutASpace(t *testing.T) {
	site, _ := family(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://parent/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := site.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("answered %s", resp.Status)
	}
}

// One target does not take all that a relay passes on.
func TestARelayPassesOnSoMuch(t *testing.T) {
	g := New(Config{})
	take := func(target string) (n int) {
		for g.begin(target) {
			n++
		}
		return n
	}
	if a, b := take("a"), take("b"); a != mostOfTarget || b != mostPassing-mostOfTarget {
		t.Errorf("a takes %d, b %d", a, b)
	}
	for range mostOfTarget {
		g.end("a")
	}
	if n := take("b"); n != mostOfTarget-(mostPassing-mostOfTarget) || len(g.targets) != 1 {
		t.Errorf("b takes %d more", n)
	}
}
