package admin

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAt: a path of targets goes into the URL and the name of the context as it is, and nothing else
// does.
func TestAt(t *testing.T) {
	for at, want := range map[string][2]string{
		"":         {"https://c:7443/clusters/shop", "shop"},
		"paris":    {"https://c:7443/clusters/shop/targets/paris", "shop@paris"},
		"eu/paris": {"https://c:7443/clusters/shop/targets/eu/paris", "shop@eu/paris"},
		"api":      {"https://c:7443/clusters/shop/targets/api", "shop@api"},
	} {
		if err := checkAt(at); err != nil {
			t.Errorf("%q: %v", at, err)
		}
		if u, name := urlAt(
			"https://c:7443/clusters/shop",
			at,
		), contextAt(
			"shop",
			at,
		); u != want[0] ||
			name != want[1] {
			t.Errorf("%q: %s, %s", at, u, name)
		}
	}
	for _, at := range []string{
		"/",
		"eu/",
		"/eu",
		"eu//paris",
		"..",
		"eu/../x",
		"EU",
		"eu?x",
		"eu%2fparis",
		"eu/api",
		"a b",
	} {
		if checkAt(at) == nil {
			t.Errorf("%q passes", at)
		}
	}
}

// A view of a site that is not there is refused before anything is written.
func TestNoViewOfNowhere(t *testing.T) {
	home := at(t)
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/synctargets/nowhere") {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		fmt.Fprint(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"Space","metadata":{"name":"shop"}}`)
	}
	_, err := command(t, serve, "space use shop --at nowhere/paris")
	if err == nil || !strings.Contains(err.Error(), `there is no site "nowhere"`) {
		t.Errorf("a site that is not there: %v", err)
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
		t.Errorf("%v was written, %v", entries, err)
	}
}

// A person's own context knows, as the center's file does, that the address is one for this machine.
func TestOwnContextKeepsTheLocalAddress(t *testing.T) {
	home := at(t)
	config := oneContext("root", "https://[::2]:1")
	if err := LocalAddress(config.Clusters["root"]); err != nil {
		t.Fatal(err)
	}
	authority := httptest.NewTLSServer(http.NotFoundHandler())
	defer authority.Close()
	config.Clusters["root"].CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: authority.Certificate().Raw})
	path := filepath.Join(home, "admin.kubeconfig")
	write(t, path, config)
	c, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	own, err := c.forCaller(UseOptions{Kubeconfig: path, Space: "shop", Center: "eu"})
	if err != nil {
		t.Fatal(err)
	}
	if !saysLocal(own.Clusters["eu/shop"]) {
		t.Errorf("clusters %v", own.Clusters)
	}
}
