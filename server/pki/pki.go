package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

// ErrDamaged is returned when the directory is not there although the center's data is, holds some
// of its files but not all, or one that cannot be read. A center does not serve then: new keys
// would lock out everybody who trusts the old ones.
var ErrDamaged = errors.New(
	"the center's keys are damaged; restore this directory from a backup (to give up the center instead and begin anew, " +
		"with which every site has to join again, move its whole data directory away)",
)

// DefaultAgentLife is how long an agent's certificate lives. It is renewed at two thirds of that.
const DefaultAgentLife = 30 * 24 * time.Hour

// Options say where the keys are and how they are used.
type Options struct {
	Dir string
	// New allows to make the keys when there are none: the center has no data yet.
	New bool
	// AgentLife is how long agents' certificates live; 0 means DefaultAgentLife.
	AgentLife time.Duration
	Log       *slog.Logger
}

// PKI is a center's keys. Its methods may be called concurrently.
type PKI struct {
	dir            string
	agentLife      time.Duration
	serviceAccount *ecdsa.PrivateKey
	reset          [32]byte

	mu      sync.Mutex
	state   state
	trusted trusted
	told    told // of trusted
	// hosts and lasting are the names of Advertise.
	hosts, lasting []string
}

// told is what everybody is told of the authorities. It is asked for at every session and every
// status of a target, so it is made once.
type told struct {
	bundle          []byte
	name, authority string
}

// trusted are the generations that count. Next and old may be nil, and one of them is.
type trusted struct{ current, next, old *generation }

// Files of the directory beside the generations.
const (
	serviceAccountFile = "service-account.key"
	resetFile          = "reset.key"
)

// Load reads the keys, or makes those of a new center. The directory gets mode 0700, the files
// 0600. Keys are made in a directory beside it that is renamed at the end, so that a crash leaves
// all or nothing.
func Load(o Options) (*PKI, error) {
	if o.AgentLife == 0 {
		o.AgentLife = DefaultAgentLife
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the center's keys: %w", err)
	}
	if len(entries) == 0 && !o.New {
		return nil, fmt.Errorf("%w: %s is missing or empty", ErrDamaged, o.Dir)
	}
	if len(entries) == 0 {
		if err := makeAll(o.Dir); err != nil {
			return nil, fmt.Errorf("make the center's keys: %w", err)
		}
	}
	if err := keyfile.Protect(o.Log, o.Dir); err != nil {
		return nil, err
	}
	p := &PKI{dir: o.Dir, agentLife: o.AgentLife}
	if err := p.read(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return p, p.sweep()
}

// Check reads the keys of a center and changes nothing. It returns until when the authority that
// signs is valid, or ErrDamaged.
func Check(dir string) (until time.Time, err error) {
	p := &PKI{dir: dir}
	if err := p.read(); err != nil {
		return until, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return p.trusted.current.server.cert.NotAfter, nil
}

func (p *PKI) read() (err error) {
	if p.state, err = readState(p.dir); err != nil {
		return err
	}
	for number, into := range map[int64]**generation{
		p.state.Current: &p.trusted.current,
		p.state.Next:    &p.trusted.next,
		p.state.Old:     &p.trusted.old,
	} {
		if number == 0 {
			continue
		}
		if *into, err = readGeneration(p.dir, number); err != nil {
			return err
		}
	}
	p.told = p.trusted.tell()
	if p.serviceAccount, err = keyfile.ReadKey(filepath.Join(p.dir, serviceAccountFile)); err != nil {
		return err
	}
	reset, err := os.ReadFile(filepath.Join(p.dir, resetFile))
	if err == nil && len(reset) != len(p.reset) {
		err = fmt.Errorf("%s: %d bytes instead of %d", filepath.Join(p.dir, resetFile), len(reset), len(p.reset))
	}
	copy(p.reset[:], reset)
	return err
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
	if _, err := makeGeneration(tmp, 1, nil); err != nil {
		return err
	}
	if err := (state{Current: 1, Since: time.Now()}).write(tmp); err != nil {
		return err
	}
	if _, err := keyfile.MakeKey(filepath.Join(tmp, serviceAccountFile)); err != nil {
		return err
	}
	reset := make([]byte, 32)
	rand.Read(reset) // never fails, see crypto/rand
	if err := keyfile.Replace(filepath.Join(tmp, resetFile), reset); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return keyfile.Rename(tmp, dir)
}

func (p *PKI) trusts() trusted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trusted
}

// signs is the generation that signs.
func (p *PKI) signs() *generation { return p.trusts().current }

// all are the generations that are trusted, the one that signs first.
func (t trusted) all() []*generation {
	return slices.DeleteFunc([]*generation{t.current, t.next, t.old}, func(g *generation) bool { return g == nil })
}

// ClientCAs are the authorities of people's certificates.
func (p *PKI) ClientCAs() *x509.CertPool {
	return p.pool(func(g *generation) *authority { return g.client })
}

// AgentCAs are the authorities of agents' certificates.
func (p *PKI) AgentCAs() *x509.CertPool {
	return p.pool(func(g *generation) *authority { return g.agent })
}

func (p *PKI) pool(of func(*generation) *authority) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, g := range p.trusts().all() {
		pool.AddCert(of(g).cert)
	}
	return pool
}

// Bundle is the PEM of what a client of this center is to trust, the authority that signs first. It
// is shared: nobody changes it.
func (p *PKI) Bundle() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told.bundle
}

func (t trusted) tell() told {
	var certs []*x509.Certificate
	for _, g := range t.all() {
		certs = append(certs, g.server.cert)
	}
	bundle := keyfile.EncodeCertificates(certs...)
	return told{slices.Clip(bundle), enroll.BundleName(bundle), enroll.AuthorityName(t.current.agent.cert)}
}

// Pin is the SHA-256, in hex, of the server CA's public key (SubjectPublicKeyInfo). It stands in
// every join token.
func (p *PKI) Pin() string { return enroll.Fingerprint(p.signs().server.cert.RawSubjectPublicKeyInfo) }

// ServiceAccountKey signs the tokens of ServiceAccounts.
func (p *PKI) ServiceAccountKey() crypto.Signer { return p.serviceAccount }

// ResetKey is the key of QUIC's stateless resets. It outlives a restart, so that agents notice one
// at once.
func (p *PKI) ResetKey() [32]byte { return p.reset }
