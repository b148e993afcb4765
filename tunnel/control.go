package tunnel

import (
	"bufio"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// The frames of the control stream. Their payloads are JSON: they are rare, and people read them.
const (
	typeHello wire.Type = iota + 32
	typeWelcome
	typeRefused
	_
	typeRequest     // a certificate request
	typeCertificate // its answer
	typeWaiting     // how many bytes of reports wait

	typeEcho       wire.Type = 45 // a question that fills a packet, or its answer, which is empty; of both sides
	typeConditions wire.Type = 43 // all that a child says of itself
	typeChanges    wire.Type = 53 // what has changed of it
)

// Commands of the parent, and what the child says to them.
const (
	typeAccept wire.Type = 39
	typeBundle wire.Type = 40
	typeLink   wire.Type = 41
	typeNarrow wire.Type = 42
	typeHolds  wire.Type = 44
	typeWish   wire.Type = 52
)

// The lease of a child, see package lease.
const (
	typeAskLease     wire.Type = 49 // of the parent: send a request now
	typeRequestLease wire.Type = 50
	typeLease        wire.Type = 51 // the answer
)

// newestType is the highest number of a frame of the control stream.
const newestType = typeChanges

// Kinds of streams, the second byte of each. A child opens all three.
const (
	kindControl byte = iota + 1
	kindDesired
	kindReported
)

// Hello introduces a child. Only its Identity is proven; Hello is information.
type Hello struct {
	AgentVersion      string `json:"agentVersion,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Relay is true for a center that is itself the child.
	Relay bool `json:"relay,omitempty"`
	// Cluster is the UID of the Namespace kube-system of the child's target. It is empty if that is
	// unknown, and for a relay.
	Cluster string `json:"cluster,omitempty"`
	// Force admits the child though its cluster is known under another name.
	Force bool `json:"force,omitempty"`
	// Center is the incarnation of a relay's own data; zero for a site.
	Center store.Incarnation `json:"center,omitzero"`
	// Renames says that the child takes over the name that Welcome gives it.
	Renames bool `json:"renames,omitempty"`
	// Instance differs for each run of the agent. So two agents that run with one identity are told
	// apart.
	Instance string `json:"instance,omitempty"`
	// Dialled is the HOST:PORT of the parent by which the child was told to reach it.
	Dialled string `json:"dialled,omitempty"`
	// Clock is the child's time.
	Clock time.Time `json:"clock"`
	// ServeChild fills in Dictionary and Credentials.
	Dictionary  string            `json:"dictionary,omitempty"`
	Credentials *CredentialStatus `json:"holds,omitempty"`
}

// Welcome is a parent's answer to Hello.
type Welcome struct {
	Incarnation   store.Incarnation `json:"incarnation"`
	CenterVersion string            `json:"centerVersion,omitempty"`
	// Site is the UID of the child's SyncTarget at the parent. It stays when the site joins again.
	Site string `json:"site,omitempty"`
	// Name is the name of the child's SyncTarget, and Formerly are names that it had and that no other
	// one has now.
	Name     string   `json:"name,omitempty"`
	Formerly []string `json:"formerly,omitempty"`
	// Reports is the newest form of reports that the parent reads: store.ReportsWhole,
	// store.ReportsShort.
	Reports int `json:"reports,omitempty"`
	// Above are the incarnations of the centers above the parent, its own parent first. A center
	// that finds itself among them is its own parent.
	Above []store.Incarnation `json:"above,omitempty"`
	// Clock is the parent's time.
	Clock time.Time `json:"clock"`
	// Wake is the content of the datagram by which the parent wakes this child after a restart, see
	// quic.Listener.Wake.
	Wake []byte `json:"wake,omitempty"`
	// RenewOnly is set by ServeParent when the child's certificate has expired. The session then
	// renews it and does nothing else.
	RenewOnly bool `json:"renewOnly,omitempty"`
	// ServeParent fills in Link, Narrow, Wish and Changes: that the parent takes changes of a ChildStatus.
	Link    Link    `json:"link,omitzero"`
	Narrow  *Narrow `json:"narrow,omitempty"`
	Wish    Wish    `json:"wish,omitzero"`
	Changes bool    `json:"changes,omitempty"`
}

// certificate answers a certificate request: a chain and the authorities to trust, or an error.
type certificate struct {
	Chain  []byte `json:"chain,omitempty"`
	Bundle []byte `json:"bundle,omitempty"`
	Error  string `json:"error,omitempty"`
}

// control is one side's control stream.
type control struct {
	stream Stream
	in     *bufio.Reader
	meter  *traffic.Meter

	mu sync.Mutex // held while a frame is written
}

// readAhead is small because frames are rare. A larger frame is read past the buffer.
const readAhead = 64

func newControl(s Stream, m *traffic.Meter) *control {
	return &control{stream: s, in: bufio.NewReaderSize(s, readAhead), meter: m}
}

func (c *control) send(t wire.Type, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("send on the control stream: %w", err)
	}
	return c.sendBytes(t, payload)
}

func (c *control) sendBytes(t wire.Type, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := wire.WriteFrame(c.stream, t, payload); err != nil {
		return fmt.Errorf("send on the control stream: %w", err)
	}
	c.meter.Add(traffic.Sent, traffic.Control, 1, wire.FrameSize(len(payload)))
	return nil
}

// receive returns the next frame. Those of a newer version than this one are left out.
func (c *control) receive() (wire.Type, []byte, error) {
	for {
		t, payload, err := wire.ReadFrame(c.in, wire.MaxControl)
		if err != nil {
			return 0, nil, fmt.Errorf("read the control stream: %w", err)
		}
		c.meter.Add(traffic.Received, traffic.Control, 1, wire.FrameSize(len(payload)))
		if t <= newestType {
			return t, payload, nil
		}
	}
}

func decode[T any](payload []byte) (v T, err error) {
	if err = json.Unmarshal(payload, &v); err != nil {
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return v, err
}
