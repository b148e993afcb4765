package doctor

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/doctortest"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// api answers as a center's does.
type api struct {
	at *httptest.Server

	mu       sync.Mutex
	readyz   string // what is not ready
	code     int    // of every answer, 0 for the right one
	ahead    time.Duration
	sites    []v1alpha1.SyncTarget
	spaces   []v1alpha1.Space
	forbid   string // the plural that may not be listed
	unlisted int    // code of the lists, 0 for the right one
	metrics  string // what /metrics shows
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	a.at = httptest.NewUnstartedServer(a)
	a.at.Listener.Close()
	a.at.Listener = tunneltest.ListenWhereUDPIsFree(t)
	a.at.TLS = &tls.Config{Certificates: tunneltest.NewCenter(t).TLS(t).Certificates}
	a.at.StartTLS()
	t.Cleanup(a.at.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Date", time.Now().Add(a.ahead).UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	plural := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch {
	case a.code != 0:
		status(w, a.code)
	case plural == "readyz" && a.readyz != "":
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(w, "[+]ping ok\n[-]%s failed: reason withheld\nreadyz check failed\n", a.readyz)
	case plural == "readyz":
		fmt.Fprintln(w, "ok")
	case plural == "metrics":
		fmt.Fprint(w, a.metrics)
	case plural == a.forbid:
		status(w, http.StatusForbidden)
	case a.unlisted != 0:
		status(w, a.unlisted)
	case plural == "synctargets":
		list(w, "SyncTargetList", a.sites)
	case plural == "spaces":
		list(w, "SpaceList", a.spaces)
	default:
		http.NotFound(w, r)
	}
}

func status(w http.ResponseWriter, code int) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
		"reason": strings.ReplaceAll(http.StatusText(code), " ", "")})
}

func list[T any](w http.ResponseWriter, kind string, items []T) {
	if items == nil {
		items = []T{}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind, "apiVersion": "skerry.dev/v1alpha1",
		"metadata": map[string]any{}, "items": items})
}

func (a *api) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *api) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.at.TLS.Certificates[0].Certificate[0]})
}

func (a *api) port() string {
	_, port, _ := net.SplitHostPort(a.at.Listener.Addr().String())
	return port
}

const canary = "canary-of-a-token"

// kubeconfig writes one that leads to a server.
func kubeconfig(t *testing.T, path, server string, ca []byte) string {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"shop",
		"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],
		"contexts":[{"name":"shop","context":{"cluster":"c","user":"u"}}],
		"users":[{"name":"u","user":{"token":%q}}]}`, server, base64.StdEncoding.EncodeToString(ca), canary)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (a *api) kubeconfig(t *testing.T) string {
	return kubeconfig(t, filepath.Join(t.TempDir(), "kubeconfig"), a.at.URL+"/clusters/shop", a.ca())
}

// alone fails unless the one fault, and nothing else, is named. The empty fault is that all is well.
func alone(t *testing.T, checks []doctor.Check, check, fault string) doctor.Finding {
	t.Helper()
	f := doctortest.Alone(t, checks, check, fault)
	if strings.Contains(f.Why+f.Fix, canary) {
		t.Errorf("it shows a token: %+v", f)
	}
	return f
}
