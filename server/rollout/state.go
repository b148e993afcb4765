package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/store"
)

// MaxReleases is how many releases a State keeps beside its default.
const MaxReleases = 10

// MaxStored is the size of the stored form of a State and of a Content, in bytes. A value of the store
// has 1.5 MiB at most, and travels as base64.
const MaxStored = 1 << 20

// ErrStored is returned for bytes that are no stored form of this package.
var ErrStored = errors.New("stored rollout cannot be read")

// ErrTooLarge is returned for a state or a content that does not fit into one value of the store.
var ErrTooLarge = errors.New("release is larger than 1 MiB when it is compressed")

// State is what is stored of the rollouts of one unit.
type State struct {
	// Era is that of the leader that has written it.
	Era store.Era `json:"era"`
	// Default is the release of each target that Targets does not name. It is proven.
	Default uint64 `json:"default"`
	// Releases that are kept, the newest last.
	Releases []Release `json:"releases"`
	// Targets that have another release than the default, in the order of their UIDs.
	Targets []Target `json:"targets,omitempty"`
}

// Release is one version of the content of a unit.
type Release struct {
	Number uint64 `json:"n"`
	// Digest tells one content from another.
	Digest uint64 `json:"digest"`
	// Made is when it was made, in Unix seconds, and Objects is how many objects it has.
	Made    int64 `json:"made"`
	Objects int   `json:"objects"`
	Proven  bool  `json:"proven,omitempty"`
	// RolledBack: too many targets have failed with it. It is not tried again.
	RolledBack bool `json:"rolledBack,omitempty"`
}

// Target is one target with the release that it was given.
type Target struct {
	// UID of the SyncTarget.
	UID     string `json:"uid"`
	Name    string `json:"name"`
	Release uint64 `json:"release"`
	// Since is when it was given, in Unix seconds.
	Since int64 `json:"since"`
	// Done: it was well with the release for long enough. Failed: it was not in time.
	Done   bool `json:"done,omitempty"`
	Failed bool `json:"failed,omitempty"`
}

// Empty reports whether there is no release yet.
func (s State) Empty() bool { return len(s.Releases) == 0 }

// Newest is the newest release. The state must not be empty.
func (s State) Newest() Release { return s.Releases[len(s.Releases)-1] }

// Release returns a release that is kept.
func (s State) Release(number uint64) (Release, bool) {
	if i := s.find(number); i >= 0 {
		return s.Releases[i], true
	}
	return Release{}, false
}

func (s State) find(number uint64) int {
	return slices.IndexFunc(s.Releases, func(r Release) bool { return r.Number == number })
}

// Of is the release that a target shall have.
func (s State) Of(uid string) uint64 {
	if i, ok := s.search(uid); ok {
		return s.Targets[i].Release
	}
	return s.Default
}

func (s State) search(uid string) (int, bool) {
	return slices.BinarySearchFunc(s.Targets, uid, func(t Target, uid string) int { return strings.Compare(t.UID, uid) })
}

// InUse are the releases that a target may have, in ascending order.
func (s State) InUse() []uint64 {
	if s.Empty() {
		return nil
	}
	out := []uint64{s.Default}
	for _, t := range s.Targets {
		out = append(out, t.Release)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Add makes a release of a content at a time. The first one is proven, and so is one whose content is that
// of the default. Of more than MaxReleases the oldest are dropped, those that a target has last; targets
// that have one of these get the default.
func (s State) Add(digest uint64, objects int, now int64) State {
	r := Release{Number: 1, Digest: digest, Objects: objects, Made: now, Proven: s.Empty()}
	if s.Empty() {
		s.Default = 1
	} else {
		r.Number = s.Newest().Number + 1
		d, _ := s.Release(s.Default)
		r.Proven = d.Digest == digest
	}
	s.Releases, s.Targets = append(slices.Clone(s.Releases), r), slices.Clone(s.Targets)
	for len(s.Releases) > MaxReleases && (s.Releases[0].Number != s.Default || len(s.Releases) > MaxReleases+1) {
		number := s.oldest()
		s.Releases = slices.DeleteFunc(s.Releases, func(is Release) bool { return is.Number == number })
		s.Targets = slices.DeleteFunc(s.Targets, func(t Target) bool { return t.Release == number })
	}
	return s
}

// oldest is the release that is dropped first: the oldest that is in no use, else the oldest that is not
// the default.
func (s State) oldest() uint64 {
	used := s.InUse()
	for _, r := range s.Releases[:len(s.Releases)-1] {
		if !slices.Contains(used, r.Number) {
			return r.Number
		}
	}
	if s.Releases[0].Number == s.Default {
		return s.Releases[1].Number
	}
	return s.Releases[0].Number
}

// Encode returns the stored form. It returns ErrTooLarge for a state that does not fit into a value.
func (s State) Encode() ([]byte, error) {
	b, err := json.Marshal(s)
	if err == nil && len(b) > MaxStored {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("encode rollout: %w", err)
	}
	return b, nil
}

// Decode reads the stored form. It returns ErrStored for what is none.
func Decode(b []byte) (s State, err error) {
	if len(b) > MaxStored {
		return s, fmt.Errorf("%w: it is longer than 1 MiB", ErrStored)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrStored, err)
	}
	if err := s.check(); err != nil {
		return State{}, err
	}
	return s, nil
}

// check returns ErrStored for a state that Next and Add cannot have made.
func (s State) check() error {
	bad := func(why string) error { return fmt.Errorf("%w: %s", ErrStored, why) }
	if s.Empty() {
		return bad("it has no release")
	}
	if len(s.Releases) > MaxReleases+1 {
		return bad("it has too many releases")
	}
	for i, r := range s.Releases {
		if r.Number == 0 || i > 0 && s.Releases[i-1].Number >= r.Number {
			return bad("its releases are out of order")
		}
	}
	if d, ok := s.Release(s.Default); !ok || !d.Proven {
		return bad("its default is not a proven release")
	}
	for i, t := range s.Targets {
		if i > 0 && s.Targets[i-1].UID >= t.UID {
			return bad("its targets are out of order")
		}
		if s.find(t.Release) < 0 {
			return bad("a target has a release that is not kept")
		}
	}
	return nil
}

// Equal reports whether two states are the same but for who has written them.
func (s State) Equal(o State) bool {
	return s.Default == o.Default && slices.Equal(s.Releases, o.Releases) && slices.Equal(s.Targets, o.Targets)
}
