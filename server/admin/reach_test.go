package admin

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A kubeconfig that leads to the loopback does so where the center is. A copy of it at another machine,
// where something else or nothing answers there, leads to the advertised address.
func TestLoopbackIsLeft(t *testing.T) {
	center := httptest.NewTLSServer(http.NotFoundHandler()) // for example.com and 127.0.0.1
	defer center.Close()
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Start() // no TLS at all
	defer other.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: center.Certificate().Raw})
	port := func(s *httptest.Server) string { return s.Listener.Addr().String()[len("127.0.0.1:"):] }
	for _, c := range []struct{ what, server, name, want, public string }{
		{"the center", center.URL, "example.com", center.URL, "https://example.com:" + port(center)},
		{"its view of a space", center.URL + "/clusters/shop", "example.com", center.URL,
			"https://example.com:" + port(center)},
		{"a certificate of another name", center.URL, "example.org", "https://example.org:" + port(center),
			"https://example.org:" + port(center)},
		{"something else", "https://127.0.0.1:" + port(other), "example.com", "https://example.com:" + port(other),
			"https://example.com:" + port(other)},
		{"nothing", "https://127.0.0.1:1", "10.0.0.1", "https://10.0.0.1:1", "https://10.0.0.1:1"},
		{"nothing at the one address of a center", "https://[::2]:1", "example.com", "https://example.com:1",
			"https://example.com:1"},
		{"no name", "https://127.0.0.1:1", "", "https://127.0.0.1:1", "https://127.0.0.1:1"},
	} {
		config := oneContext("root", c.server)
		cluster := &clientcmdapi.Cluster{Server: c.server, TLSServerName: c.name, CertificateAuthorityData: ca}
		if err := LocalAddress(cluster); err != nil {
			t.Fatal(err)
		}
		config.Clusters["root"] = cluster
		path := filepath.Join(t.TempDir(), "kubeconfig")
		write(t, path, config)
		got, err := open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.config.Host != c.want || got.publicURL("root") != c.public {
			t.Errorf("%s: %s, for others %s; want %s and %s", c.what, got.config.Host, got.publicURL("root"), c.want, c.public)
		}
		handed, err := got.forUser("shop", "", "", "alice", &clientcmdapi.AuthInfo{Token: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if cluster := handed.Clusters["shop"]; cluster.Server != c.public+"/clusters/shop" || cluster.TLSServerName != "" {
			t.Errorf("%s: handed out with %s for %q", c.what, cluster.Server, cluster.TLSServerName)
		}
	}
}
