package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/tunnel/enroll"
)

// ErrDamaged is returned when the directory holds some of its files but not all, or one that cannot be read. A center does not serve
// then: new keys would lock out everybody who trusts the old ones.
var ErrDamaged = errors.New("the center's keys are damaged; restore the pki directory from a backup")

// PKI is a center's keys. Its methods may be called concurrently.
type PKI struct {
	server, client, agent *authority
	serviceAccount        *ecdsa.PrivateKey
	reset                 [32]byte
}

// The files of the directory. Each authority is NAME.crt and NAME.key.
const (
	serverFile         = "server-ca"
	clientFile         = "client-ca"
	agentFile          = "agent-ca"
	serviceAccountFile = "service-account.key"
	resetFile          = "reset.key"
)

// Load reads the keys of dir, or makes them when dir does not exist or is empty. The directory gets mode 0700, the files 0600. Keys are
// made in a directory beside it that is renamed at the end, so that a crash leaves all or nothing.
func Load(dir string) (*PKI, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the center's keys: %w", err)
	}
	if len(entries) == 0 {
		if err := makeAll(dir); err != nil {
			return nil, fmt.Errorf("make the center's keys: %w", err)
		}
	}
	p := &PKI{}
	for file, into := range map[string]**authority{serverFile: &p.server, clientFile: &p.client, agentFile: &p.agent} {
		if *into, err = readAuthority(filepath.Join(dir, file)); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, file, err)
		}
	}
	if p.serviceAccount, err = readKey(filepath.Join(dir, serviceAccountFile)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, serviceAccountFile, err)
	}
	reset, err := os.ReadFile(filepath.Join(dir, resetFile))
	if err == nil && len(reset) != len(p.reset) {
		err = fmt.Errorf("%d bytes instead of %d", len(reset), len(p.reset))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, resetFile, err)
	}
	copy(p.reset[:], reset)
	return p, nil
}

func makeAll(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".pki-*") // mode 0700
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for file, name := range map[string]string{serverFile: "skerry server CA", clientFile: "skerry client CA", agentFile: "skerry agent CA"} {
		if err := makeAuthority(filepath.Join(tmp, file), name); err != nil {
			return err
		}
	}
	if _, err := makeKey(filepath.Join(tmp, serviceAccountFile)); err != nil {
		return err
	}
	reset := make([]byte, 32)
	rand.Read(reset) // never fails, see crypto/rand
	if err := os.WriteFile(filepath.Join(tmp, resetFile), reset, 0o600); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(tmp, dir)
}

// ServerCA, ClientCA and AgentCA are the certificates of the three authorities.
func (p *PKI) ServerCA() *x509.Certificate { return p.server.cert }

// ClientCA signs the client certificates of people.
func (p *PKI) ClientCA() *x509.Certificate { return p.client.cert }

// AgentCA signs the client certificates of agents.
func (p *PKI) AgentCA() *x509.Certificate { return p.agent.cert }

// Bundle is the PEM of what a client of this center is to trust.
func (p *PKI) Bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.cert.Raw})
}

// Pin is the SHA-256, in hex, of the server CA's public key (SubjectPublicKeyInfo). It stands in every join token.
func (p *PKI) Pin() string {
	return enroll.Fingerprint(p.server.cert.RawSubjectPublicKeyInfo)
}

// ServiceAccountKey signs the tokens of ServiceAccounts.
func (p *PKI) ServiceAccountKey() crypto.Signer { return p.serviceAccount }

// ResetKey is the key of QUIC's stateless resets. It outlives a restart, so that agents notice one at once.
func (p *PKI) ResetKey() [32]byte { return p.reset }
