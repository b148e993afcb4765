package credential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
)

// asked is a center that answers TokenRequests.
type asked struct {
	*httptest.Server
	paths  []string
	status int
	token  string
}

func newCenter(t *testing.T) *asked {
	c := &asked{status: http.StatusCreated}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.paths = append(c.paths, r.Method+" "+r.URL.Path)
		w.WriteHeader(c.status)
		if c.status == http.StatusCreated {
			fmt.Fprintf(w, `{"status":{"token":%q}}`, c.token)
			return
		}
		fmt.Fprint(w, `{"kind":"Status","message":"no"}`)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *asked) at(path string) *rest.Config { return &rest.Config{Host: c.URL + path} }

var alices = Name{"eu", "shop"}

// given is what the plugin prints for a process.
func given(t *testing.T, s Store, center *rest.Config, client int) (string, error) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Serve(t.Context(), alices, center, client, &out); err != nil {
		if out.Len() > 0 {
			t.Errorf("it printed %q", &out)
		}
		return "", err
	}
	var answer clientauthentication.ExecCredential
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	if until := time.Until(answer.Status.ExpirationTimestamp.Time); until <= 0 || until > renewAfter {
		t.Errorf("the program asks again after %s", until)
	}
	return answer.Status.Token, nil
}

func saved(t *testing.T, age, life time.Duration) (Store, string) {
	t.Helper()
	s, issued := Store{t.TempDir()}, time.Now().Add(-age)
	old := token(issued, issued.Add(life))
	if err := s.Save(alices, Credential{Token: old}); err != nil {
		t.Fatal(err)
	}
	return s, old
}

func TestServe(t *testing.T) {
	now := time.Now()
	fresh := token(now, now.Add(90*time.Minute))

	t.Run("as it is", func(t *testing.T) {
		s, old := saved(t, time.Minute, time.Hour)
		c := newCenter(t)
		if got, err := given(t, s, c.at(""), 1); err != nil || got != old || len(c.paths) > 0 {
			t.Errorf("%v, asked %v", err, c.paths)
		}
	})
	t.Run("due", func(t *testing.T) {
		s, _ := saved(t, 30*time.Minute, time.Hour)
		c := newCenter(t)
		c.token = fresh
		if got, err := given(t, s, c.at("/clusters/shop/targets/paris"), 1); err != nil || got != fresh {
			t.Errorf("%v", err)
		}
		if want := "POST /clusters/shop/api/v1/namespaces/kube-users/serviceaccounts/alice/token"; len(c.paths) != 1 ||
			c.paths[0] != want {
			t.Errorf("asked %v", c.paths)
		}
		if kept, err := s.Load(alices); err != nil || kept.Token != fresh {
			t.Errorf("kept %+v, %v", kept, err)
		}
		if info, err := os.Stat(s.file(alices)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
	t.Run("due and not renewable", func(t *testing.T) {
		s, old := saved(t, 30*time.Minute, time.Hour)
		c := newCenter(t)
		c.status = http.StatusForbidden
		for client := range 2 {
			if got, err := given(t, s, c.at(""), client); err != nil || got != old || len(c.paths) != 1 {
				t.Errorf("%v, asked %v", err, c.paths)
			}
		}
	})
	t.Run("revoked", func(t *testing.T) {
		s, old := saved(t, 30*time.Minute, time.Hour)
		c := newCenter(t)
		c.status = http.StatusUnauthorized
		_, err := given(t, s, c.at(""), 1)
		if err == nil || !strings.Contains(err.Error(), "no longer accepts them") ||
			!strings.Contains(err.Error(), "skerry space kubeconfig shop --user alice -o FILE") ||
			strings.Contains(err.Error(), old) {
			t.Errorf("%v", err)
		}
	})
	t.Run("refused a moment ago", func(t *testing.T) {
		s, old := saved(t, time.Minute, time.Hour)
		c := newCenter(t)
		c.token = fresh
		for i, want := range []struct {
			client int
			token  string
		}{{1, old}, {2, old}, {1, old}, {1, fresh}} {
			if got, err := given(t, s, c.at(""), want.client); err != nil || got != want.token {
				t.Errorf("%d: %v", i, err)
			}
		}
	})
	t.Run("center away", func(t *testing.T) {
		s, old := saved(t, 30*time.Minute, time.Hour)
		away := &rest.Config{Host: "https://127.0.0.1:1"}
		if got, err := given(t, s, away, 1); err != nil || got != old {
			t.Errorf("%v", err)
		}
		if kept, err := s.Load(alices); err != nil || time.Until(kept.Next) > askAgain || time.Until(kept.Next) <= 0 {
			t.Errorf("asked again at %s, %v", kept.Next, err)
		}
	})
	t.Run("ended", func(t *testing.T) {
		s, _ := saved(t, 2*time.Hour, time.Hour)
		for what, center := range map[string]*rest.Config{"cannot reach center https://127.0.0.1:1: connection refused": {
			Host: "https://127.0.0.1:1"}, "ended at": nil} {
			if _, err := given(t, s, center, 1); err == nil || !strings.Contains(err.Error(), what) ||
				!strings.Contains(err.Error(), "ask an admin of the space") {
				t.Errorf("%v, want %s", err, what)
			}
		}
	})
	t.Run("ended, and the center says so", func(t *testing.T) {
		s, _ := saved(t, 2*time.Hour, time.Hour)
		c := newCenter(t)
		c.status = http.StatusUnauthorized
		if _, err := given(t, s, c.at(""), 1); err == nil || !strings.Contains(err.Error(), "credentials eu/shop ended at 2") ||
			!strings.Contains(err.Error(), "ask an admin of the space") || len(c.paths) != 1 {
			t.Errorf("%v, asked %v", err, c.paths)
		}
	})
	t.Run("gone", func(t *testing.T) {
		if _, err := given(t, Store{t.TempDir()}, nil, 1); err == nil ||
			!strings.Contains(err.Error(), "skerry space use shop --kubeconfig FILE") {
			t.Errorf("%v", err)
		}
	})
}
