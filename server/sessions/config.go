package sessions

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/lease"
	"skerry.dev/skerry/tunnel/tracing"
)

// Config is what the sessions need of the center.
type Config struct {
	// API returns a configuration for the root space with the center's own rights. It is called
	// when the API serves.
	API         func() *rest.Config
	Incarnation store.Incarnation
	Version     string
	// Packet is the UDP socket for QUIC. Stream hands in TCP connections whose handshake is done
	// with what TLSConfig says; see tcp.Listen.
	Packet      net.PacketConn
	Stream      net.Listener
	Credentials Credentials
	Authorities Authorities
	// ResetKey outlives a restart, so that agents notice one at once.
	ResetKey [32]byte
	// ConnectedFile is the file that says who was connected before a crash.
	ConnectedFile string
	// Delivery, Inboxes and Summary are what the center does with what is to be sent, and with what
	// is reported.
	Delivery Delivery
	Inboxes  Inboxes
	Summary  Summary
	// Outages is where it is recorded whose reports are old.
	Outages *catalog.Outages
	// Leases is where it is recorded which leases may be counted on.
	Leases *catalog.Leases
	Center Center
	// Rename stores SyncTargets under other names; nil for none.
	Rename Renamer
	// Metrics is where what is counted is registered; nil counts for nobody.
	Metrics prometheus.Registerer
	// Trace follows sampled changes to targets; nil follows none.
	Trace *tracing.Follower
	Log   *slog.Logger
}

// Center is the process that the sessions are part of. Its methods must not wait.
type Center interface {
	// Above returns the centers above this one, its parent first; none where it is no relay.
	Above() []store.Incarnation
	// Leads reports whether this replica leads now, by a clock that runs on in suspend.
	Leads() bool
	// Lease returns what binds this center as a relay; the zero value binds nothing. It is false while
	// that is not known.
	Lease() (lease.Own, bool)
	// Connected is called for each connection that a session is to begin on.
	Connected()
	// Withheld is called when a target says that it holds deletions of a namespace, and when their
	// number changes.
	Withheld(target string, in tunnel.WithheldIn)
	// Rotated is called when other authorities sign or are trusted.
	Rotated()
	// Streams returns who serves the streams that a target opens over its data connection; a nil
	// handler cancels them.
	Streams(who tunnel.Identity) tunnel.StreamHandler
}

// Credentials prove the center to agents, and agents to the center.
type Credentials interface {
	// Certificate returns the certificate of the center; it is a tls.Config's GetCertificate.
	Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Sign issues the certificate of an agent for a request and a name. The chain is PEM.
	Sign(csr []byte, name string) (chainPEM []byte, err error)
}

// Authorities are the center's certificate authorities, which a rotation replaces step by step.
type Authorities interface {
	// Authorities tells how far a rotation is. Announce, Switch and Retire are its steps, each
	// durable when it returns.
	Authorities() v1alpha1.AuthoritiesStatus
	Announce() error
	Switch() error
	Retire() error
	// KeepNames records the names that are advertised, which the certificate has until ForgetNames.
	KeepNames() error
	ForgetNames(names ...string) error
	// Bundle is the PEM of the authorities that agents are to trust, AgentCAs those of their
	// certificates.
	Bundle() []byte
	AgentCAs() *x509.CertPool
}

// Delivery knows what targets are to have.
type Delivery interface {
	// Feed returns the desired feed of a target; nil while the center does not know the target.
	Feed(target string) *store.Feed
	// Count returns how many objects are placed on a target.
	Count(target string) int
	// MovesOf lists the moves from or to a target. Server.Recount is to be called when they change.
	MovesOf(target string) []placement.Moving
	// Remaining returns what is left on a target that workloads have to leave; false for others.
	Remaining(target string) (placement.Remaining, bool)
	// Room returns the bounds of a target and what is placed there, and how many objects.
	Room(target string) (room placement.Room, objects int)
	// Confirmed is called when a target has confirmed a revision, see Server.RequestBarrier. It must
	// not wait.
	Confirmed(target string, revision int64)
}

// Inboxes keep what targets report, an inbox a target.
type Inboxes interface {
	// Open returns the inbox of a target, a new one if there is none.
	Open(target string) (store.Sink, error)
	// Len returns how many reports an inbox has.
	Len(target string) int
	// Unkept returns how many reports an inbox has no room for.
	Unkept(target string) int
	// Copy gives a target what another one has reported, in place of what is there. Neither has a session.
	Copy(from, to string) error
	// Forget removes the inbox of a target that is gone.
	Forget(target string)
}

// Summary reads what targets report.
type Summary interface {
	// Tally counts what the reports of a target say of all that is placed on it, and names the first
	// refusals. Server.Recount is to be called when it changes.
	Tally(target string, first int) placement.Tally
	// Outage is called when the reports of a target begin to be old, and when they are current
	// again; Server.Outage tells which. It must not wait.
	Outage(target string)
	// Event tells people of an object. Equal ones are counted, not repeated. It must not wait.
	Event(e placement.Event)
}
