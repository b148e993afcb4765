package tunnel

import (
	"cmp"
	"regexp"
	"slices"
	"sync"

	"skerry.dev/skerry/store/clip"
)

// Condition is one condition that a child reports about itself. Its fields mean what they mean in a
// Kubernetes condition.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// The types of conditions that a child may say of itself; True is good. A parent drops all others.
const (
	// CenterTrusted is False while the child does not obey its parent fully: something would be
	// lost, and an admin has to confirm that first.
	CenterTrusted = "CenterTrusted"
	// ClockInSync is False while the child's clock is far from its parent's.
	ClockInSync = "ClockInSync"
	// CertificateValid is False when the child's certificate has ended or cannot be renewed.
	CertificateValid = "CertificateValid"
	// StoreHealthy is False while the child's own file cannot be written, or is being filled again
	// after it was lost.
	StoreHealthy = "StoreHealthy"
	// TargetReachable is False while the child cannot reach the cluster that it writes to.
	TargetReachable = "TargetReachable"
	// ClusterUnchanged is False when the cluster that the child writes to was replaced since the
	// child's last start.
	ClusterUnchanged = "ClusterUnchanged"
	// LeaseHeld is False while the child's lease has ended, so that what must not run twice is stopped
	// there.
	LeaseHeld = "LeaseHeld"
	// TakesReleases is False while the child keeps the releases that it has and takes no other.
	TakesReleases = "TakesReleases"
	// VersionAsWished is False while the child has another version than its parent wishes.
	VersionAsWished = "VersionAsWished"
)

// The reasons of VersionAsWished.
const (
	// VersionWaits: nobody has tried to install what is wished.
	VersionWaits = "Waiting"
	// VersionFailed: the site's owner has tried it.
	VersionFailed = "Failed"
)

// Wished begins the message of VersionAsWished: so that of another wish is told apart.
func Wished(version string) string { return "version " + version + " is wished" }

// HoldCovers says in the message of TakesReleases what is held, and what is not.
const HoldCovers = "it holds what Placements with rollout.type Progressive place here; what others place has no " +
	"releases and goes on to change at once"

// ConditionTypes returns all types that a parent accepts.
func ConditionTypes() []string {
	return []string{
		CenterTrusted, ClockInSync, CertificateValid, StoreHealthy, TargetReachable, ClusterUnchanged, LeaseHeld,
		TakesReleases, VersionAsWished,
	}
}

// The statuses of a condition.
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// What a parent takes of one message of conditions; the rest is dropped or cut.
const (
	maxConditions       = 16
	maxConditionReason  = 64
	maxConditionMessage = 1024
)

var reasonForm = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?$`)

// bounded returns the conditions that a parent accepts, and how many it dropped. It accepts known
// types, each once, in a form that Kubernetes stores.
func bounded(list []Condition) (kept []Condition, dropped int) {
	known := ConditionTypes()
	for _, c := range list[:min(len(list), maxConditions)] {
		again := slices.ContainsFunc(kept, func(k Condition) bool { return k.Type == c.Type })
		if again || !slices.Contains(known, c.Type) || !slices.Contains([]string{True, False, Unknown}, c.Status) ||
			!wellFormed(c.Reason) {
			continue
		}
		c.Message = clip.Text(c.Message, maxConditionMessage)
		kept = append(kept, c)
	}
	return kept, len(list) - len(kept)
}

// ChildStatus is all that a child reports about itself.
type ChildStatus struct {
	Conditions []Condition `json:"conditions,omitempty"`
	// Withheld is nil while no deletions are held.
	Withheld *Withheld `json:"withheld,omitempty"`
	// Below is nil unless the child is a relay.
	Subtree *SubtreeStatus `json:"below,omitempty"`
	// Policy is what the site allows; nil for a relay.
	Policy *Allow `json:"policy,omitempty"`
	// Cluster is what the child's cluster is made of; nil while that is not known.
	Cluster *ClusterFacts `json:"cluster,omitempty"`
	// Offer is what the child's cluster offers; nil while that is not known, or as it was last sent
	// in the session.
	Offer *ClusterOffer `json:"offer,omitempty"`
}

// bounded returns what a parent accepts of s, and how many conditions it dropped.
func (s ChildStatus) bounded() (ChildStatus, int) {
	kept, dropped := bounded(s.Conditions)
	return ChildStatus{
		kept, s.Withheld.bounded(), s.Subtree.bounded(), s.Policy.bounded(), s.Cluster.bounded(),
		s.Offer.Bounded(),
	}, dropped
}

// Conditions is what a child reports about itself. Parts of the agent set it. A session sends all
// of it when it begins, and again whenever it changes. The zero value is empty. All methods may be
// called concurrently.
type Conditions struct {
	mu   sync.Mutex
	list []Condition   // by type; never changed in place
	wake chan struct{} // closed and replaced at a change; nil until somebody waits

	met       bool  // a parent was met
	regressed error // why it is held
	withheld  *Withheld
	below     *SubtreeStatus
	policy    *Allow
	cluster   *ClusterFacts
	offer     *ClusterOffer
}

// Set records a condition. The last one of a type counts.
func (c *Conditions) Set(now Condition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(now)
}

func (c *Conditions) setLocked(now Condition) {
	i, found := c.findLocked(now.Type)
	if found && c.list[i] == now {
		return
	}
	next := slices.Clone(c.list)
	if found {
		next[i] = now
	} else {
		next = slices.Insert(next, i, now)
	}
	c.changeLocked(next)
}

// Clear removes the condition of a type.
func (c *Conditions) Clear(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i, found := c.findLocked(kind); found {
		c.changeLocked(slices.Delete(slices.Clone(c.list), i, i+1))
	}
}

// Permit records what the site allows.
func (c *Conditions) Permit(a *Allow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !a.Equal(c.policy) {
		c.policy = a
		c.changeLocked(c.list)
	}
}

// Get returns the condition of a type. It reports false if there is none.
func (c *Conditions) Get(kind string) (Condition, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, found := c.findLocked(kind)
	if !found {
		return Condition{}, false
	}
	return c.list[i], true
}

// All returns everything that was recorded, the conditions ordered by type. The channel is closed
// at the next change.
func (c *Conditions) All() (ChildStatus, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wake == nil {
		c.wake = make(chan struct{})
	}
	return ChildStatus{c.list, c.withheld, c.below, c.policy, c.cluster, c.offer}, c.wake
}

func (c *Conditions) findLocked(kind string) (int, bool) {
	return slices.BinarySearchFunc(
		c.list,
		kind,
		func(have Condition, kind string) int { return cmp.Compare(have.Type, kind) },
	)
}

func (c *Conditions) changeLocked(next []Condition) {
	c.list = next
	if c.wake != nil {
		close(c.wake)
		c.wake = nil
	}
}
