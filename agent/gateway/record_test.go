package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
)

// overwrite has somebody with rights at the target write into the Secret of an account.
func (s *site) overwrite(t *testing.T, account string, data map[string]string) {
	t.Helper()
	fields := map[string]any{}
	for k, v := range data {
		fields[k] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	if !s.api.Edit("somebody", "", "secrets", "pre-app", store.PodAPISecret(account), map[string]any{"data": fields}) {
		t.Fatal("there is no Secret")
	}
}

// What others write into the Secret of an account is not believed, neither now nor after a restart:
// their token opens nothing, and the Secret is written anew.
func TestForgedSecrets(t *testing.T) {
	api, p, dir := newAPI(t), newParent(t), t.TempDir()
	s := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	own := s.secret(t, "op")
	forged := token("shop/app/op", 99, time.Hour)
	for what, data := range map[string]map[string]string{
		"a token":     {store.PodAPIToken: forged},
		"a CA":        {store.PodAPICA: "-----BEGIN CERTIFICATE-----"},
		"a namespace": {store.PodAPINamespace: "kube-system"},
	} {
		s.overwrite(t, "op", data)
		again := newSite(t, dir, api, p, "127.0.0.1:0")
		must(t, again.provided(t, "op"))
		now := again.secret(t, "op")
		if now[store.PodAPIToken] == forged || now[store.PodAPICA] != own[store.PodAPICA] ||
			now[store.PodAPINamespace] != "app" {
			t.Errorf("%s of somebody else stays: %q", what, now)
		}
		eventually(t, what+": the forged token is refused", func() bool {
			code, _ := again.ask(t, own, forged)
			if code == http.StatusOK {
				t.Fatalf("%s: a forged token is good", what)
			}
			return code == http.StatusUnauthorized
		})
		if code, body := again.ask(t, now, now[store.PodAPIToken]); code != http.StatusOK {
			t.Errorf("%s: its own token is answered with %d %s", what, code, body)
		}
	}
	for _, h := range p.take() {
		if h.header.Get("Authorization") == "Bearer "+forged {
			t.Error("a forged token crossed")
		}
	}
}

// A Secret that only looks like one of the gateway, in a namespace that is not the space's, is left
// alone, and nobody is known by it.
func TestASecretElsewhereIsNobodys(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	api.Put("v1", "Namespace", "", "theirs", nil)
	api.Put("v1", "Secret", "theirs", store.PodAPISecret("op"), map[string]any{"metadata": map[string]any{
		"labels": map[string]any{"skerry.dev/gateway": "true"}, "annotations": map[string]any{
			"skerry.dev/gateway-space": "shop", "skerry.dev/gateway-namespace": "app", "skerry.dev/gateway-account": "op",
		}}})
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	s.Inventory.Put(inventory.NamespaceKey("shop", "app"), inventory.Record{UID: "u-2", Prefix: "pre-"})
	must(t, s.look(t.Context()))
	if a := s.account(identity{"shop", "app", "op"}); a != nil {
		t.Errorf("the credentials are in %q", a.at)
	}
	must(t, s.provided(t, "op"))
	if api.Object("", "secrets", "theirs", store.PodAPISecret("op")) == nil || s.secret(t, "op") == nil {
		t.Error("the Secret of somebody else was touched, or the own one not made")
	}
}

// With the directory of the agent its authority and its record are lost. What pods have is written
// anew as soon as their workload is named; with it they are served.
func TestALostDirectoryHeals(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	first := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	must(t, first.provided(t, "op"))
	lost := first.secret(t, "op")
	later := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	later.Inventory.Put(op, inventory.Record{UID: "u-1", Account: "op", Prefix: "pre-"})
	later.need()
	eventually(t, "the Secret has the new authority", func() bool {
		must(t, later.look(t.Context()))
		return later.secret(t, "op")[store.PodAPICA] != lost[store.PodAPICA]
	})
	now := later.secret(t, "op")
	if code, body := later.ask(t, now, now[store.PodAPIToken]); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	eventually(t, "a token of before, which nobody vouches for, is refused", func() bool {
		code, _ := later.ask(t, now, lost[store.PodAPIToken])
		return code == http.StatusUnauthorized
	})
}

// A damaged record is as good as none.
func TestADamagedRecord(t *testing.T) {
	api, p, dir := newAPI(t), newParent(t), t.TempDir()
	s := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	must(t, os.WriteFile(filepath.Join(dir, "gateway", "accounts.json"), []byte(`[{"space":"shop"`), 0o600))
	again := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, again.provided(t, "op"))
	now := again.secret(t, "op")
	if code, body := again.ask(t, now, now[store.PodAPIToken]); code != http.StatusOK || p.count() != 2 {
		t.Errorf("%d %s, %d tokens", code, body, p.count())
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`[{"space":"s","namespace":"n","account":"a","at":"n","sums":["00"],"renewAt":"2026-01-01T00:00:00Z"}]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		accounts, err := decodeRecord(data)
		if err != nil {
			return
		}
		r := openRecord(t.TempDir())
		for who, a := range accounts {
			if len(a.sums) > 2 || who.space == "" {
				t.Fatalf("%v %v", who, a)
			}
			if len(a.sums) == 0 {
				a.sums = append(a.sums, sha256.Sum256(data))
			}
		}
		must(t, r.write(accounts))
		again, err := r.read()
		must(t, err)
		if len(accounts) > 0 && !reflect.DeepEqual(accounts, again) {
			t.Fatalf("%v became %v", accounts, again)
		}
	})
}
