package enroll

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/keyfile"
)

// The files of an enrolled site.
const (
	keyFile    = "agent.key"
	newKeyFile = "agent.key.new" // of a join that is under way with another key than before
	certFile   = "agent.crt"
	bundleFile = "ca.crt"
	tokenFile  = "agent.token" // the id of the token that it last joined with, which is no secret
)

// Credentials are who a site is: its key, its certificate and the authorities that it trusts. They
// may be used while a renewal replaces them.
type Credentials struct {
	dir   string
	name  string
	key   *ecdsa.PrivateKey
	clock *Clock

	mu     sync.Mutex
	cert   tls.Certificate
	bundle []byte
}

// HasJoined reports whether a directory holds a certificate of a site, sound or not.
func HasJoined(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, certFile))
	return err == nil
}

// Load reads the credentials of a site that has joined. It returns ErrNotEnrolled when there are
// none.
func Load(dir string, clock *Clock) (*Credentials, error) {
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
	key, err := loadKey(dir, chain)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	c := &Credentials{dir: dir, key: key, clock: clock}
	if err := c.take(chain, bundle); err != nil {
		return nil, fmt.Errorf("the credentials in %s cannot be used: %w", dir, err)
	}
	return c, nil
}

// loadKey reads the key of a certificate, and puts it in its place where a crash left it behind.
func loadKey(dir string, chain []byte) (*ecdsa.PrivateKey, error) {
	next, err := keyfile.ReadKey(filepath.Join(dir, newKeyFile))
	if certs, cerr := keyfile.Certificates(chain); err == nil && cerr == nil &&
		next.PublicKey.Equal(certs[0].PublicKey) {
		return next, keyfile.Rename(filepath.Join(dir, newKeyFile), filepath.Join(dir, keyFile))
	}
	return keyfile.ReadKey(filepath.Join(dir, keyFile))
}

// Install checks a new certificate and bundle, writes them, each file as a whole, and uses them
// from now on. An empty bundle leaves the trusted authorities as they are.
func (c *Credentials) Install(chain, bundle []byte) error {
	if len(bundle) == 0 {
		bundle = c.trusted()
	}
	if err := c.take(chain, bundle); err != nil {
		return fmt.Errorf("the center sent an unusable certificate: %w", err)
	}
	if had, err := os.ReadFile(filepath.Join(c.dir, bundleFile)); err != nil || !bytes.Equal(had, bundle) {
		if err := keyfile.Replace(filepath.Join(c.dir, bundleFile), bundle); err != nil {
			return err
		}
	}
	return keyfile.Replace(filepath.Join(c.dir, certFile), chain)
}

// Trust checks a bundle, writes it and trusts exactly it from now on.
func (c *Credentials) Trust(bundle []byte) error {
	if bytes.Equal(bundle, c.trusted()) {
		return nil
	}
	if err := checkAuthorities(bundle); err != nil {
		return err
	}
	if err := keyfile.Replace(filepath.Join(c.dir, bundleFile), bundle); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bundle = bundle
	return nil
}

func checkAuthorities(bundle []byte) error {
	certs, err := keyfile.Certificates(bundle)
	if err != nil {
		return fmt.Errorf("authorities: %w", err)
	}
	for _, cert := range certs {
		if !cert.IsCA {
			return fmt.Errorf("authorities: %q is none", cert.Subject)
		}
	}
	return nil
}

func (c *Credentials) take(chain, bundle []byte) error {
	certs, err := keyfile.Certificates(chain)
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
	if err := checkAuthorities(bundle); err != nil {
		return err
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

// Name returns the SyncTarget's name.
func (c *Credentials) Name() string { return c.name }

// NotAfter returns when the certificate expires.
func (c *Credentials) NotAfter() time.Time { return c.leaf().NotAfter }

// RenewAt returns when to renew the certificate: at two thirds of its life.
func (c *Credentials) RenewAt() time.Time {
	leaf := c.leaf()
	return leaf.NotBefore.Add(leaf.NotAfter.Sub(leaf.NotBefore) * 2 / 3)
}

// Renewal returns when and how a session renews the certificate.
func (c *Credentials) Renewal() *tunnel.Renewal {
	return &tunnel.Renewal{
		Wait:    func() time.Duration { return c.RenewAt().Sub(c.clock.Now()) },
		CSR:     c.CSR,
		Install: c.Install,
		Trust:   c.Trust,
		Status:  c.Holding,
	}
}

// Holding returns what is reported to the parent about the credentials.
func (c *Credentials) Holding() tunnel.CredentialStatus {
	leaf := c.leaf()
	return tunnel.CredentialStatus{
		Bundle:    BundleName(c.trusted()),
		Authority: AuthorityName(leaf),
		Until:     leaf.NotAfter,
	}
}

// CSR returns a request for the next certificate, for the same key and name.
func (c *Credentials) CSR() ([]byte, error) { return requestFor(c.key, c.name) }

// TLS is the client's configuration for a dial to the parent. It proves the site, and trusts the
// center's authorities under whatever name the center is reached. The current certificate is taken
// at each handshake.
func (c *Credentials) TLS() *tls.Config {
	config := verifying(c.rootsOf, c.clock.within)
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

func (c *Credentials) trusted() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bundle
}

func (c *Credentials) rootsOf(tls.ConnectionState) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.trusted())
	return pool, nil
}
