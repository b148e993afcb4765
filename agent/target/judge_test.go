package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// The target's certificate is judged at the time that is known to be right: its authority and its
// name as ever.
func TestTargetIsJudgedAtTheRightTime(t *testing.T) {
	then := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             then,
		NotAfter:              then.Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"gitVersion":"v1"}`) }),
	)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, c := range map[string]struct {
		now    func() time.Time
		server string // the name that is expected
		want   bool
	}{
		"by the machine's clock": {nil, "", false},
		"at the right time":      {func() time.Time { return then.Add(time.Hour) }, "", true},
		"too early":              {func() time.Time { return then.Add(-time.Hour) }, "", false},
		"too late":               {func() time.Time { return then.Add(25 * time.Hour) }, "", false},
		"another's name":         {func() time.Time { return then.Add(time.Hour) }, "another", false},
	} {
		clients := NewClients(
			Cluster(
				&rest.Config{
					Host:            server.URL,
					TLSClientConfig: rest.TLSClientConfig{CAData: authority, ServerName: c.server},
				},
			),
		)
		if c.now != nil {
			clients.JudgeAt(c.now)
		}
		client, err := clients.For("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Version(t.Context()); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		clients.CloseIdle()
	}
}
