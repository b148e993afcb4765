package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// ServiceReview calls a Service of this space from a site, as a Pod there would, and says what each place on the way
// decided. It can be created only, and is not stored: the answer is its status. It is answered by the code that joins
// connections. Nothing is sent over the connection, and it ends at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type ServiceReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ServiceReviewSpec `json:"spec"`
	// +optional
	Status ServiceReviewStatus `json:"status,omitempty"`
}

// ServiceReviewSpec is the question.
type ServiceReviewSpec struct {
	// Namespace of the Service. Who asks must be allowed to get the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Service by its name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service"`
	// Host is the host name of one Pod of a headless Service, such as db-0. Empty means any.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Host string `json:"host,omitempty"`
	// Port of the Service, by number or name. Empty means its first TCP port.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Port string `json:"port,omitempty"`
	// From is the SyncTarget that calls. Below a relay it has the names on the way, as nordic/tromso.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	From string `json:"from"`
	// Pod in whose name the site calls, as NAMESPACE/NAME: NetworkPolicies are asked about it. Who asks must be allowed to
	// get it. Empty means one that the site has of the Service's namespace, else of another one of this space.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Pod string `json:"pod,omitempty"`
}

// ServiceReviewStatus is the answer.
type ServiceReviewStatus struct {
	// Answered is true when a Pod has accepted the connection.
	Answered bool `json:"answered"`
	// Reason is Answered, or in one CamelCase word why nothing has: that of the hop that decided. Message says it to
	// people, with what to do.
	Reason string `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
	// Site that has answered, as in spec.from, and Pod there. The Pod is left out for those who may not get it.
	// +optional
	Site string `json:"site,omitempty"`
	// +optional
	Pod string `json:"pod,omitempty"`
	// Port of the Service that was called.
	// +optional
	Port int32 `json:"port,omitempty"`
	// As is the Pod in whose name the site has called, as NAMESPACE/NAME. Without one, NetworkPolicies let in only what
	// they let in from everywhere.
	// +optional
	As string `json:"as,omitempty"`
	// Took is how long the connection took.
	// +optional
	Took *metav1.Duration `json:"took,omitempty"`
	// Hops are the places on the way, in the order in which they were asked, at most 64.
	// +optional
	Hops []ServiceHop `json:"hops,omitempty"`
}

// ServiceHop is what one place decided.
type ServiceHop struct {
	// At is the place, as in spec.from. It is "." for this center, and ".." for the one above it.
	At string `json:"at"`
	// Reason is one CamelCase word: Local, Gateway, Asks, Answered, NoName, NoReadyPod, NoEndpoint, NoPort, Closed,
	// DeniedByNetworkPolicy, Unreachable, Late, Limited, Moving or Refused.
	Reason string `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
	// Pod that has accepted the connection, for those who may get it.
	// +optional
	Pod string `json:"pod,omitempty"`
	// Took is how long it took until the place knew, with all that lies behind it.
	// +optional
	Took *metav1.Duration `json:"took,omitempty"`
}

// ReadServiceReview reads a question, as JSON or YAML.
func ReadServiceReview(body []byte) (*ServiceReview, error) {
	var review ServiceReview
	if err := yaml.UnmarshalStrict(body, &review); err != nil {
		return nil, fmt.Errorf("read the ServiceReview: %w", err)
	}
	q := &review.Spec
	if review.Kind != "ServiceReview" || review.APIVersion != GroupVersion.String() {
		return nil, fmt.Errorf("kind and apiVersion must be ServiceReview and %s", GroupVersion)
	}
	isLabel := func(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
	isName := func(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }
	port, err := strconv.ParseUint(q.Port, 10, 16)
	namespace, pod, both := strings.Cut(q.Pod, "/")
	switch {
	case !isLabel(q.Namespace):
		return nil, fmt.Errorf("spec.namespace: %.80q is no name of a Namespace", q.Namespace)
	case !isLabel(q.Service):
		return nil, fmt.Errorf("spec.service: %.80q is no name of a Service", q.Service)
	case q.Host != "" && !isLabel(q.Host):
		return nil, fmt.Errorf("spec.host: %.80q is no host name of a Pod", q.Host)
	case q.Port != "" && (err != nil || port == 0) && !isLabel(q.Port):
		return nil, fmt.Errorf("spec.port: %.80q is neither a number from 1 to 65535 nor the name of a port", q.Port)
	case q.Pod != "" && (!both || !isLabel(namespace) || !isName(pod)):
		return nil, fmt.Errorf("spec.pod: %.80q is not NAMESPACE/NAME", q.Pod)
	}
	sites := strings.Split(q.From, "/")
	for _, site := range sites {
		if !isName(site) || len(sites) > mostSites {
			return nil, fmt.Errorf("spec.from: %.80q is no name of a target; below a relay write RELAY/TARGET", q.From)
		}
	}
	return &review, nil
}

// mostSites is how many names spec.from may have.
const mostSites = 16
