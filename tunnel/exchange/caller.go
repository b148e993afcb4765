package exchange

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
)

// Caller is who calls a Service, a Pod as a rule, as the agent at its own site knows it. The NetworkPolicies of the
// site where the Service is are asked about it. What it says is as good as that agent: a site that runs Pods of a
// space can run one with any labels.
type Caller struct {
	// Namespace is the Pod's, by its name in the space. It is empty for a node, and for whoever calls from outside: of
	// them there is the Address alone.
	Namespace string `json:"namespace,omitempty"`
	// OfSite says that the Pod is of no space, and its Namespace one of its site.
	OfSite bool `json:"ofSite,omitempty"`
	// NamespaceLabels are those of the Namespace, Labels those of the Pod.
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	// Address is that of the caller at that site. Networks of sites overlap.
	Address netip.Addr `json:"address"`
}

// MaxCaller bounds a Caller as it is sent, in bytes.
const MaxCaller = 16 << 10

// Encode returns the Caller as it is sent, empty for one that is larger than MaxCaller: nothing is known of that.
func (c Caller) Encode() string {
	text, err := json.Marshal(c)
	if err != nil || len(text) > MaxCaller || !isLine(string(text)) {
		return ""
	}
	return string(text)
}

// ReadCaller undoes Encode. The error wraps ErrRequest.
func ReadCaller(text string) (c Caller, err error) {
	if len(text) > MaxCaller {
		return Caller{}, fmt.Errorf("%w: a caller of more than %d bytes", ErrRequest, MaxCaller)
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return Caller{}, fmt.Errorf("%w: caller %.80q: %w", ErrRequest, text, err)
	}
	if !c.named() || !c.Address.IsValid() || c.Encode() != text {
		return Caller{}, fmt.Errorf("%w: caller %.80q", ErrRequest, text)
	}
	return c, nil
}

// AddressOf is what another space is told of an encoded Caller: its address. It is empty where nobody knows who calls.
func AddressOf(text string) string {
	c, err := ReadCaller(text)
	if err != nil {
		return ""
	}
	return Caller{Address: c.Address}.Encode()
}

// named reports whether there is a Namespace, or nothing that one would have.
func (c Caller) named() bool {
	if c.Namespace == "" {
		return !c.OfSite && len(c.Labels) == 0 && len(c.NamespaceLabels) == 0
	}
	return labelForm.MatchString(c.Namespace)
}

// isLine reports whether a text may be the value of a header.
func isLine(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
