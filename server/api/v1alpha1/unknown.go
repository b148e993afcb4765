package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The ConfigMap in root, namespace kube-system, that lists the agents that knock and are not known
// to the center.
const (
	UnknownAgentsName = "skerry-unknown-agents"
	// UnknownAgentsKey holds a JSON list of UnknownAgent.
	UnknownAgentsKey = "agents"
)

// UnknownAgent is an agent that knocks and is not known.
//
// +kubebuilder:object:generate=false
type UnknownAgent struct {
	// Name is what it calls itself; From is its address. Anybody may say any name.
	Name string `json:"name"`
	From string `json:"from"`
	// Why it is not let in: TargetUnknown with a certificate of this center, WrongAuthority with
	// one of another.
	Why string `json:"why"`
	// Since is when it knocked first, Last when it knocked the last time before the list was
	// written.
	Since metav1.Time `json:"since"`
	Last  metav1.Time `json:"last"`
}
