package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The center's certificate authorities are rotated through a ConfigMap of root: an admin writes the
// request, the center the status.
const (
	AuthoritiesNamespace = "kube-system"
	AuthoritiesName      = "skerry-authorities"
	// AuthoritiesRequestKey and AuthoritiesStatusKey are the ConfigMap's keys. Their values are
	// JSON.
	AuthoritiesRequestKey = "request"
	AuthoritiesStatusKey  = "status"
	// AuthoritiesForgetKey holds the former names, a JSON list, that an admin wants off the center's
	// certificate. The center empties it when they are.
	AuthoritiesForgetKey = "forget"
)

// AuthoritiesPhase is how far a rotation is.
type AuthoritiesPhase string

// The phases of a rotation, in order.
const (
	// AuthoritiesStable: one generation is there; no rotation is under way.
	AuthoritiesStable AuthoritiesPhase = "Stable"
	// AuthoritiesAnnounced: the next generation is made and trusted here; targets are told to trust
	// it, too. Nothing is signed with it yet.
	AuthoritiesAnnounced AuthoritiesPhase = "Announced"
	// AuthoritiesSwitched: the new generation signs everything; the old one is still trusted, and
	// targets renew their certificates.
	AuthoritiesSwitched AuthoritiesPhase = "Switched"
)

// AuthoritiesRequest is what an admin wants of the authorities.
type AuthoritiesRequest struct {
	// Generation is the one that shall sign. One more than the present one begins a rotation.
	Generation int64 `json:"generation"`
	// SwitchAt is when the new generation begins to sign, although targets do not trust it yet. Nil
	// waits for all.
	SwitchAt *metav1.Time `json:"switchAt,omitempty"`
	// RetireAfter is how long after the switch the old generation stays trusted at least:
	// kubeconfigs that were handed out name it.
	RetireAfter *metav1.Duration `json:"retireAfter,omitempty"`
	// Force is a phase that is left at once, although targets are not ready: Announced or Switched.
	Force AuthoritiesPhase `json:"force,omitempty"`
}

// DefaultRetireAfter is how long a retired generation stays trusted at least, unless the request
// says otherwise.
const DefaultRetireAfter = 30 * 24 * time.Hour

// AuthoritiesStatus is how the authorities are.
type AuthoritiesStatus struct {
	Phase AuthoritiesPhase `json:"phase"`
	// Generation is the one that signs.
	Generation int64 `json:"generation"`
	// Since is when the phase began.
	Since metav1.Time `json:"since"`
	// Until is when the generation that signs ends by itself; rotate before.
	Until metav1.Time `json:"until"`
	// Bundle names the authorities that targets are to trust, Authority the one that signs their
	// certificates.
	Bundle    string `json:"bundle"`
	Authority string `json:"authority"`
	// Targets is how many are joined, Waiting how many of them the next phase waits for, WaitingFor
	// the first 20 of them. They are counted during a rotation.
	Targets    int      `json:"targets,omitempty"`
	Waiting    int      `json:"waiting,omitempty"`
	WaitingFor []string `json:"waitingFor,omitempty"`
	// NextAt is before when the next phase does not begin.
	NextAt *metav1.Time `json:"nextAt,omitempty"`
	// FormerNames are names that the center's certificate has although the center is not advertised
	// by them any more.
	FormerNames []FormerName `json:"formerNames,omitempty"`
	// Problem is why the last step failed. It is tried again.
	Problem string `json:"problem,omitempty"`
}

// FormerName is a host name or address by which the center was advertised.
type FormerName struct {
	Name string `json:"name"`
	// Sites are the connected ones that dial it, the first 20.
	Sites []string `json:"sites,omitempty"`
}
