package credential

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// token is one of alice of the space shop.
func token(issued, expires time.Time) string {
	claims := fmt.Sprintf(`{"iss":"https://center:7443/clusters/shop","iat":%d,"exp":%d,"kubernetes.io":`+
		`{"namespace":"kube-users","serviceaccount":{"name":"alice","uid":"1"}}}`, issued.Unix(), expires.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// A credential is renewed after a day, or after a third of its life, and not again at once when the
// center did not.
func TestDue(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		what      string
		age, life time.Duration
		next      time.Time
		want      bool
	}{
		{"a new one", time.Minute, 365 * 24 * time.Hour, time.Time{}, false},
		{"one of yesterday", 25 * time.Hour, 365 * 24 * time.Hour, time.Time{}, true},
		{"a short one in its first third", 19 * time.Minute, time.Hour, time.Time{}, false},
		{"a short one after that", 21 * time.Minute, time.Hour, time.Time{}, true},
		{"one that was asked for", 25 * time.Hour, 365 * 24 * time.Hour, now.Add(time.Minute), false},
		{"one that may be asked for again", 25 * time.Hour, 365 * 24 * time.Hour, now.Add(-time.Minute), true},
	} {
		issued := now.Add(-c.age)
		one := Credential{Token: token(issued, issued.Add(c.life)), Next: c.next}
		if got := one.due(now); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
	if (Credential{Token: "nonsense"}).due(now) {
		t.Error("nonsense is due")
	}
}

func TestNames(t *testing.T) {
	for s, ok := range map[string]bool{
		"center.example.com/shop": true, "10.0.0.1:7543/root": true, "eu/shop-1": true,
		"": false, "shop": false, "/shop": false, "eu/": false, "../shop": false, "./shop": false, "eu/../x": false,
		"eu/shop/x": false, "eu/Shop": false, "-eu/shop": false, "e u/shop": false, "eu\x00/shop": false,
		strings.Repeat("a", 254) + "/shop": false, ".hidden/shop": false,
	} {
		n, err := ParseName(s)
		if (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
		if ok && n.String() != s {
			t.Errorf("%q became %q", s, n)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("center.example.com:7443/shop")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if file := (Store{dir}).file(n); !strings.HasPrefix(file, dir+"/") || filepath.Clean(file) != file ||
			strings.Count(file[len(dir):], "/") != 2 {
			t.Errorf("%q is kept in %s", s, file)
		}
	})
}

func FuzzParseToken(f *testing.F) {
	now := time.Now()
	f.Add(token(now, now.Add(time.Hour)))
	f.Add("a.e30.b")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseToken(s)
		if err == nil && (got.Space == "" || got.User == "") {
			t.Errorf("%q: %+v", s, got)
		}
	})
}

func TestParseToken(t *testing.T) {
	now := time.Unix(time.Now().Unix(), 0)
	got, err := ParseToken(token(now, now.Add(time.Hour)))
	if want := (Token{"shop", "alice", now, now.Add(time.Hour)}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	other := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://c/clusters/shop","kubernetes.io":` +
		`{"namespace":"default","serviceaccount":{"name":"robot"}}}`))
	for _, s := range []string{"", "a.b", "a.!.c", "a.e30.c", "a." + other + ".c"} {
		if got, err := ParseToken(s); err == nil {
			t.Errorf("%q is %+v", s, got)
		}
	}
}
