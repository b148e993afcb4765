package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
)

// examined is the answer of a center to whoever asks what would happen.
func (c *center) examined(handler http.Handler, body map[string]any) (code string, status int, version string) {
	c.t.Helper()
	body["examine"] = true
	data, err := json.Marshal(body)
	must(c.t, err)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, enroll.Path, bytes.NewReader(data)))
	var out struct {
		answered
		Version string
	}
	must(c.t, json.Unmarshal(w.Body.Bytes(), &out))
	if len(out.Chain) > 0 || len(out.Bundle) > 0 {
		c.t.Errorf("an examination gave away a certificate: %+v", out)
	}
	return out.Code, w.Code, out.Version
}

// An examination says what a join would, and changes nothing: no token is used, no target made.
func TestExamineJoin(t *testing.T) {
	c := newCenter(t)
	fresh, used, expired := c.token(nil, time.Hour), c.token(nil, time.Hour), c.token(nil, time.Hour)
	c.api.change(secretsPath+"/"+tokenPrefix+expired.ID,
		map[string]any{"data": map[string]any{dataExpires: []byte("2020-01-01T00:00:00Z")}})
	owner := newSite(t, "owner")
	if c.join(owner, used).status != http.StatusOK {
		t.Fatal("the honest join was refused")
	}
	signed, before := c.signed.Load(), fmt.Sprint(c.api.objects)
	newcomer := newSite(t, "newcomer")
	ask := func(token enroll.Token, name string, csr []byte) string {
		code, status, version := c.examined(c.sessions.Handler(), map[string]any{"tokenID": token.ID,
			"secret": token.Secret, "name": name, "csr": csr})
		if (status == http.StatusOK) != (code == "") || (version != "") != (code == "") {
			t.Errorf("HTTP %d, %q, version %q", status, code, version)
		}
		return code
	}
	forged := fresh
	forged.Secret = used.Secret
	for range 3 {
		for _, want := range []struct {
			code  string
			token enroll.Token
			name  string
			csr   []byte
		}{
			{"", fresh, "newcomer", newcomer.csr(t)},
			{"", used, "owner", owner.csr(t)}, // whose answer was lost
			{"token-used", used, "newcomer", newcomer.csr(t)},
			{"token-expired", expired, "newcomer", newcomer.csr(t)},
			{"token-unknown", forged, "newcomer", newcomer.csr(t)},
			{"name-in-use", fresh, "owner", newcomer.csr(t)},
			{"name", fresh, "root", newcomer.csr(t)},
			{"name", fresh, "newcomer", []byte("no request")},
		} {
			if got := ask(want.token, want.name, want.csr); got != want.code {
				t.Errorf("as %s: %q, want %q", want.name, got, want.code)
			}
		}
	}
	if now := fmt.Sprint(c.api.objects); c.signed.Load() != signed || now != before {
		t.Errorf("it has changed something:\n%s\n%s", before, now)
	}
	if c.join(newcomer, fresh).status != http.StatusOK {
		t.Error("the token is not good any more")
	}
}

// Without a token a site asks for its own key. Whoever has another one cannot tell a site that is
// there from one that is not.
func TestExamineSite(t *testing.T) {
	c := newCenter(t)
	stop := c.open()
	paris, lyon := c.joined("paris"), c.joined("lyon")
	ask := func(name string, csr []byte) string {
		code, _, _ := c.examined(c.sessions.Handler(), map[string]any{"name": name, "csr": csr})
		return code
	}
	if got := ask("paris", paris.csr(t)); got != "" {
		t.Errorf("paris: %s", got)
	}
	c.revoke("lyon")
	if got := ask("lyon", lyon.csr(t)); got != "revoked" {
		t.Errorf("lyon: %s", got)
	}
	stranger := newKey(t)
	for _, name := range []string{"paris", "lyon", "nowhere"} {
		if got := ask(name, request(t, stranger, name)); got != "site-unknown" {
			t.Errorf("a stranger as %s: %s", name, got)
		}
	}
	forged := paris.csr(t)
	forged[len(forged)/2] ^= 1
	if got := ask("paris", forged); got == "" {
		t.Error("a request that its key did not sign was accepted")
	}
	stop()
}

// Examinations are limited as joins are, and with them.
func TestExaminationsAreLimited(t *testing.T) {
	c := newCenter(t)
	handler, refused := c.sessions.Handler(), 0
	for range 200 {
		_, status, _ := c.examined(handler, map[string]any{"tokenID": "00000000",
			"secret": "00000000000000000000000000000000", "name": "x", "csr": []byte("x")})
		if status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused < 100 {
		t.Errorf("%d of 200 were refused", refused)
	}
}
