package exchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// What is born at a site beside Pods, and may be deleted and changed there from a space.
const (
	Claims      = "persistentvolumeclaims"
	Jobs        = "jobs.batch"
	ReplicaSets = "replicasets.apps"
	Devices     = "resourceclaims.resource.k8s.io"
)

// Services are what Connect is for beside Pods.
const Services = "services"

// born are their groups and plurals.
var born = map[string]*[2]string{
	Claims: {
		"",
		"persistentvolumeclaims",
	}, Jobs: {"batch", "jobs"}, ReplicaSets: {"apps", "replicasets"},
	Devices: {"resource.k8s.io", "resourceclaims"},
}

// Kind returns the API group and the plural of what the request is about. All are served as v1.
func (r *Request) Kind() (group, plural string) {
	if r.Resource == Services {
		return "", Services
	}
	if b := born[r.Resource]; b != nil {
		return b[0], b[1]
	}
	return "", "pods"
}

// Changes is what becomes of the metadata of an object that was born at a site, and of the size of a
// claim. Conditions go alone: they are of a Pod's status.
type Changes struct {
	// Labels and Annotations that get a value, or that are taken off: nil.
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
	// Storage is the quantity that a claim requests from now on. Empty leaves it as it is.
	Storage string `json:"storage,omitempty"`
	// Conditions that a Pod's spec.readinessGates name.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one of a Pod's status. The times are in RFC 3339; empty is none.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	LastProbeTime      string `json:"lastProbeTime,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	Reason             string `json:"reason,omitempty"`
	Message            string `json:"message,omitempty"`
}

// Change reads the body of a request with the verb Change. Its error wraps ErrRequest. Labels and
// annotations of skerry.dev are refused: they say whose an object is.
func (r *Request) Change() (*Changes, error) {
	decoder := json.NewDecoder(bytes.NewReader(r.Body))
	decoder.DisallowUnknownFields()
	c := &Changes{}
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("%w: its changes: %w", ErrRequest, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%w: something follows its changes", ErrRequest)
	}
	object := len(c.Labels)+len(c.Annotations) > 0 || c.Storage != ""
	if object == (len(c.Conditions) > 0) {
		return nil, fmt.Errorf("%w: it changes either metadata or conditions", ErrRequest)
	}
	if c.Storage != "" && (r.Resource != Claims || !sizeForm.MatchString(c.Storage)) {
		return nil, fmt.Errorf("%w: the size %.40q for %s", ErrRequest, c.Storage, cmp.Or(r.Resource, "pods"))
	}
	if len(c.Conditions) > 0 && r.Resource != "" {
		return nil, fmt.Errorf("%w: conditions of %s", ErrRequest, r.Resource)
	}
	if object && r.Origin != "" {
		return nil, fmt.Errorf("%w: it changes what was placed", ErrRequest)
	}
	for _, part := range []map[string]*string{c.Labels, c.Annotations} {
		for name := range part {
			if IsSkerryKey(name) {
				return nil, fmt.Errorf("%w: it changes %.80q, which only Skerry writes", ErrRequest, name)
			}
		}
	}
	return c, nil
}

// sizeForm is a quantity as Kubernetes writes it. It is bounded, so that reading one costs little.
var sizeForm = regexp.MustCompile(`^[0-9]{1,20}(\.[0-9]{1,9})?(m|k|[MGTPE]|[KMGTPE]i|e[0-9]{1,2})?$`)

// IsSkerryKey reports whether the key of a label or an annotation is of skerry.dev or of a domain
// below it.
func IsSkerryKey(name string) bool {
	domain, _, found := strings.Cut(name, "/")
	domain = strings.ToLower(domain)
	return found && (domain == "skerry.dev" || strings.HasSuffix(domain, ".skerry.dev"))
}

// EncodeChange returns the body of a request with the verb Change.
func EncodeChange(c *Changes) ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the changes: %w", err)
	}
	return body, nil
}
