package placement

import (
	"maps"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// Facts are what a target has reported of its cluster. They are not changed once a decision has
// seen them: what is reported later are other Facts.
type Facts struct {
	KubernetesVersion string
	Properties        map[string]string
	// Capacity and Allocatable are those of all nodes, Allocated is what is used of Allocatable.
	Capacity, Allocatable, Allocated corev1.ResourceList
	// APIs is what the cluster serves; nil while it has not said.
	APIs *APIs

	once  sync.Once
	input map[string]any // of CEL

	mu       sync.Mutex
	outcomes map[string]celOutcome // of expressions in CEL
}

// same reports whether two clusters are the same to every filter.
func (f *Facts) same(other *Facts) bool {
	if f == nil || other == nil {
		return f == other
	}
	equal := func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }
	return f.KubernetesVersion == other.KubernetesVersion && f.APIs == other.APIs &&
		maps.Equal(f.Properties, other.Properties) && maps.EqualFunc(f.Capacity, other.Capacity, equal) &&
		maps.EqualFunc(f.Allocatable, other.Allocatable, equal)
}

// API is a resource of a group and version.
type API struct{ Group, Version, Resource string }

// String writes an API as group/version/resource, or version/resource for the core group.
func (a API) String() string {
	if a.Group == "" {
		return a.Version + "/" + a.Resource
	}
	return a.Group + "/" + a.Version + "/" + a.Resource
}

// ParseAPI reads what String writes.
func ParseAPI(text string) (a API, ok bool) {
	parts := strings.Split(text, "/")
	switch len(parts) {
	case 2:
		return API{Version: parts[0], Resource: parts[1]}, parts[0] != "" && parts[1] != ""
	case 3:
		return API{parts[0], parts[1], parts[2]}, parts[0] != "" && parts[1] != "" && parts[2] != ""
	default:
		return API{}, false
	}
}

// APIs is what a cluster serves.
type APIs struct {
	versions, resources map[string]bool
	incomplete          bool
}

// NewAPIs returns what a SyncTarget's status says, nil for nothing.
func NewAPIs(s *v1alpha1.ServedAPIs) *APIs {
	if s == nil {
		return nil
	}
	return &APIs{versions: asSet(s.Versions), resources: asSet(s.Resources), incomplete: s.Incomplete}
}

// Serves reports whether the cluster serves an API. A resource that Kubernetes brings is served
// when its group and version are.
func (s *APIs) Serves(a API) bool {
	if s.resources[a.String()] {
		return true
	}
	version := strings.TrimPrefix(a.Group+"/"+a.Version, "/")
	if tunnel.BuiltInGroup(a.Group) {
		return s.versions[version]
	}
	return s.incomplete && s.versions[version]
}

// parseVersion parses a version of Kubernetes. What a vendor appends does not count.
func parseVersion(text string) (semver.Version, bool) {
	text = strings.TrimPrefix(text, "v")
	if i := strings.IndexAny(text, "-+"); i >= 0 {
		text = text[:i]
	}
	v, err := semver.Parse(text)
	return v, err == nil
}
