package doctor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// A center that runs is not called unreachable because the kubeconfig's program gives no credentials.
func TestProgramWithoutCredentials(t *testing.T) {
	a, dir := newAPI(t), t.TempDir()
	text, err := os.ReadFile(a.kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "plugin")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`{"token":"`+canary+`"}`), []byte(`{"exec":{"apiVersion":
		"client.authentication.k8s.io/v1","interactiveMode":"Never","command":"`+program+`"}}`), 1)
	file := filepath.Join(dir, "exec")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, from(file), "workstation.center", "credentials-none")
}

func TestEndOfACertificate(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(-1, 0, 0), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	file := filepath.Join(t.TempDir(), "crt")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []rest.TLSClientConfig{{CertData: text}, {CertFile: file}} {
		config := &rest.Config{TLSClientConfig: c}
		if got, want := ended(config, end.Add(time.Hour)),
			": the client certificate ended at 2026-03-01T12:00:00Z"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := ended(config, end.Add(-time.Hour)); got != "" {
			t.Errorf("before its end %q", got)
		}
	}
	if got := ended(&rest.Config{BearerToken: "x"}, end); got != "" {
		t.Errorf("without one %q", got)
	}
}
