package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SyncTargetBelow is what a relay says of the sites below it. None of its fields is left out.
type SyncTargetBelow struct {
	// Troubled is how many of them hold something back, or say otherwise that they are not as they
	// should be.
	Troubled int32 `json:"troubled"`
	// First are the first of those, at most 10.
	// +optional
	First []SiteInTrouble `json:"first"`
	// Targets is how many sites and relays there are below, and Connected how many of them have a
	// session, as every relay on the way to them has. A short absence, and a short return, does not
	// count. Both are absent where the relay is of a version that does not say it.
	// +optional
	Targets *int32 `json:"targets"`
	// +optional
	Connected *int32 `json:"connected"`
	// Away are the first of those that have no session, longest ago first, at most 10. What is
	// below one of them is not named.
	// +optional
	Away []SiteAway `json:"away"`
}

// SiteAway is a site or a relay below a relay that has no session.
type SiteAway struct {
	// Path leads to it, as that of a SiteInTrouble does.
	Path string `json:"path"`
	// Since is when it was last heard of.
	Since metav1.Time `json:"since"`
}

// SiteInTrouble is a site below a relay that is not as it should be.
type SiteInTrouble struct {
	// Path leads to the site: the names of the relays on the way, from this one on and without it,
	// and the site's own, joined by "/".
	Path string `json:"path"`
	// Condition is the worst of the conditions of its SyncTarget that are False, Reason is why.
	Condition string `json:"condition"`
	Reason    string `json:"reason"`
}
