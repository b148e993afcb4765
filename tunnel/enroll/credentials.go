package enroll

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Organization marks the subject of an agent's certificate.
const Organization = "skerry:targets"

// The files of an enrolled site.
const (
	keyFile    = "agent.key"
	certFile   = "agent.crt"
	bundleFile = "ca.crt"
)

// Credentials are who a site is: its key, its certificate and whom it trusts. They may be used while a renewal replaces them.
type Credentials struct {
	dir  string
	name string
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	cert   tls.Certificate
	bundle []byte
}

// Load reads the credentials of a site that has joined. It returns ErrNotEnrolled when there are none.
func Load(dir string) (*Credentials, error) {
	chain, err := os.ReadFile(filepath.Join(dir, certFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotEnrolled
	} else if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	bundle, err := os.ReadFile(filepath.Join(dir, bundleFile))
	if err != nil {
		return nil, fmt.Errorf("read the trusted authorities: %w", err)
	}
	key, err := readKey(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	c := &Credentials{dir: dir, key: key}
	if err := c.take(chain, bundle); err != nil {
		return nil, fmt.Errorf("the credentials in %s cannot be used: %w", dir, err)
	}
	return c, nil
}

// install writes the credentials of a site and returns them.
func install(dir string, key *ecdsa.PrivateKey, name string, chain, bundle []byte) (*Credentials, error) {
	c := &Credentials{dir: dir, key: key, name: name}
	if err := c.Install(chain, bundle); err != nil {
		return nil, err
	}
	return c, nil
}

// Install checks a new certificate and bundle, writes them, each file as a whole, and uses them from now on. An empty bundle leaves
// the trusted authorities as they are.
func (c *Credentials) Install(chain, bundle []byte) error {
	if len(bundle) == 0 {
		c.mu.Lock()
		bundle = c.bundle
		c.mu.Unlock()
	}
	if err := c.take(chain, bundle); err != nil {
		return fmt.Errorf("the center sent an unusable certificate: %w", err)
	}
	if err := replace(filepath.Join(c.dir, bundleFile), bundle); err != nil {
		return err
	}
	return replace(filepath.Join(c.dir, certFile), chain)
}

func (c *Credentials) take(chain, bundle []byte) error {
	certs, err := parseCertificates(chain)
	if err != nil {
		return err
	}
	id, err := IdentityOf(certs[0])
	if err != nil {
		return err
	}
	if c.name != "" && id.Target != c.name {
		return fmt.Errorf("it is for %q, this site is %q", id.Target, c.name)
	}
	if !c.key.PublicKey.Equal(certs[0].PublicKey) {
		return errors.New("it is for another key")
	}
	if _, err := parseCertificates(bundle); err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	cert := tls.Certificate{PrivateKey: c.key, Leaf: certs[0]}
	for _, x := range certs {
		cert.Certificate = append(cert.Certificate, x.Raw)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.cert, c.bundle = id.Target, cert, bundle
	return nil
}

// Name is the SyncTarget's name.
func (c *Credentials) Name() string { return c.name }

// NotAfter is when the certificate ends.
func (c *Credentials) NotAfter() time.Time { return c.leaf().NotAfter }

// RenewAt is when the certificate should be renewed: at two thirds of its life.
func (c *Credentials) RenewAt() time.Time {
	leaf := c.leaf()
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)
}

// Renewal tells the tunnel's session when and how to renew.
func (c *Credentials) Renewal() *tunnel.Renewal {
	return &tunnel.Renewal{Wait: func() time.Duration { return time.Until(c.RenewAt()) }, CSR: c.CSR, Install: c.Install}
}

// CSR is a request for the next certificate, for the same key and name.
func (c *Credentials) CSR() ([]byte, error) { return requestFor(c.key, c.name) }

// TLS is the client's configuration for a dial to the parent: it proves the site, and trusts the center's authorities whatever name
// it is reached by. The current certificate is taken at each handshake.
func (c *Credentials) TLS() *tls.Config {
	config := verifying(c.rootsOf, true)
	config.NextProtos = []string{tunnel.ALPN}
	config.GetClientCertificate = c.certificate
	return config
}

func (c *Credentials) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cert := c.cert
	return &cert, nil
}

func (c *Credentials) leaf() *x509.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cert.Leaf
}

func (c *Credentials) rootsOf(tls.ConnectionState) (*x509.CertPool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.bundle)
	return pool, nil
}

// IdentityOf reads who a verified agent certificate is for. The whole of subject and URI must say the same name.
func IdentityOf(cert *x509.Certificate) (tunnel.Identity, error) {
	name := cert.Subject.CommonName
	want := pkix.Name{CommonName: name, Organization: []string{Organization}}
	if name == "" || cert.Subject.String() != want.String() || len(cert.URIs) != 1 || cert.URIs[0].Scheme != "skerry" ||
		cert.URIs[0].Path != "/targets/"+name {
		return tunnel.Identity{}, fmt.Errorf("the certificate of %q is not an agent's", cert.Subject)
	}
	return tunnel.Identity{Target: name, Key: spkiPin(cert), Serial: strings.ToLower(cert.SerialNumber.Text(16)), NotAfter: cert.NotAfter}, nil
}

// CenterOf is the incarnation, in hex, of the center that an agent's certificate belongs to.
func CenterOf(cert *x509.Certificate) string {
	if len(cert.URIs) != 1 {
		return ""
	}
	return cert.URIs[0].Host
}

func requestFor(key *ecdsa.PrivateKey, name string) ([]byte, error) {
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{Organization}}}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

func loadOrMakeKey(dir string) (*ecdsa.PrivateKey, error) {
	path := filepath.Join(dir, keyFile)
	key, err := readKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, replace(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func readKey(path string) (*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM key", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a key of type %T", path, key)
	}
	return ec, nil
}

func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate")
	}
	return certs, nil
}

// replace writes a file as a whole and durably: after a crash it holds the old or the new content. Mode 0600.
func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
