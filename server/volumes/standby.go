package volumes

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// Replica is a unit whose volumes are to have a standby: From is where it is, To is where the standby is.
type Replica struct {
	Move
	// Every is the time between the beginnings of rounds.
	Every time.Duration
	// MaxAge is how old the last round may be when From goes silent, for the unit to begin on it by itself.
	MaxAge time.Duration
	// Settles: there are no more rounds. The unit is about to begin on the standby, which ends what a round has begun,
	// and has nothing of a standby any more.
	Settles bool
}

// Word is how who replicates and who decides speak to each other. Its functions must not block.
type Word struct {
	// Ends says whether From is away, and names To where that is.
	Ends func() (lost *Lost, away string)
	// Say tells of the standby of a claim.
	Say func(c Claim, s Standby)
}

// Standby is what the center says of a standby in the annotation of the Deployment that keeps it.
type Standby struct {
	Claim string `json:"claim"`
	// Source and Target are the names of the targets.
	Source string `json:"source"`
	Target string `json:"target"`
	Every  string `json:"every,omitempty"`
	MaxAge string `json:"maxAge,omitempty"`
	// Last is the last whole round, nil for none yet.
	Last *Round `json:"last,omitempty"`
	// Next is when the next one begins, zero while one runs or none will.
	Next time.Time `json:"next,omitzero"`
	// Problem says why there is no newer round.
	Problem string `json:"problem,omitempty"`
	// Ended: there will be none, as it is not replicated now.
	Ended bool `json:"ended,omitempty"`
	// Doing says what is under way. It is not kept.
	Doing string `json:"-"`
	// Settled: the volume was looked at, and holds the last round. Released: nothing of a standby is left in it, so that
	// the unit may begin. Both are taken back before another round begins.
	Settled  bool `json:"settled,omitempty"`
	Released bool `json:"released,omitempty"`
	// Lost is what is known of a source that is away.
	Lost *Lost `json:"lost,omitempty"`
}

// Round is a whole round.
type Round struct {
	// At is when it was begun: whatever was written before is in it.
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Files   int64     `json:"files"`
	Bytes   int64     `json:"bytes"`
	Sent    int64     `json:"sent"`
}

// Lost is what is known of a target that is away and has what a standby is of.
type Lost struct {
	Since time.Time `json:"since"`
	// Certain: nothing that must not run twice runs there any more. Else Why says what to do or to wait for.
	Certain bool   `json:"certain,omitempty"`
	Why     string `json:"why,omitempty"`
}

// ParseStandby reads the annotation, nil for anything else.
func ParseStandby(text string) *Standby {
	s := &Standby{}
	if text == "" || json.Unmarshal([]byte(text), s) != nil {
		return nil
	}
	return s
}

// Patch has the annotation say this, and the Deployment run a number of Pods; -1 leaves that as it is.
func (s *Standby) Patch(replicas int) []byte {
	text, _ := json.Marshal(s) // texts, numbers and times
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		v1alpha1.AnnotationStandby: string(text)}}}
	if replicas >= 0 {
		patch["spec"] = map[string]any{"replicas": replicas}
	}
	body, _ := json.Marshal(patch)
	return body
}

// Runs is the patch that has a mover run or rest.
func Runs(replicas int) []byte { return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas) }

// WakeUpAt is WakeUp for a mover beside a workload that runs on a node, or on none where that is empty.
func WakeUpAt(node string) []byte {
	var affinity any
	if node != "" {
		affinity = beside(node)
	}
	body, _ := json.Marshal(map[string]any{
		"spec": map[string]any{"replicas": 1,
			"template": map[string]any{"spec": map[string]any{"affinity": affinity}}},
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationKeepUntil: nil}},
	})
	return body
}

// Forever is until when a volume is kept that somebody has to take away.
var Forever = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Defaults of a VolumeReplication. A round counts from its beginning, so the last whole one is older than every while
// the next one runs. Four of them are not lost by chance.
const (
	defaultEvery = 15 * time.Minute
	ageOfRounds  = 4
	leastAge     = 10 * time.Minute
)

// Every is the time between the beginnings of rounds.
func Every(how *v1alpha1.VolumeReplication) time.Duration {
	if how.Every == nil {
		return defaultEvery
	}
	return how.Every.Duration
}

// MaxAge is how old the last round may be when its source goes silent, for a unit to begin on it by itself.
func MaxAge(how *v1alpha1.VolumeReplication) time.Duration {
	if how.MaxAge == nil {
		return max(ageOfRounds*Every(how), leastAge)
	}
	return how.MaxAge.Duration
}

// TooOld is how old the last round was when its source went silent, and whether that is more than a unit begins on by
// itself.
func (s *Standby) TooOld(silent time.Time) (age time.Duration, is bool) {
	if s.Last == nil {
		return 0, false
	}
	age = silent.Sub(s.Last.At).Round(time.Second)
	return age, age > s.maxAge()
}

// maxAge is that of its last word, which older centers have not said.
func (s *Standby) maxAge() time.Duration {
	if most, err := time.ParseDuration(s.MaxAge); err == nil {
		return most
	}
	how := v1alpha1.VolumeReplication{}
	if every, err := time.ParseDuration(s.Every); err == nil {
		how.Every = &metav1.Duration{Duration: every}
	}
	return MaxAge(&how)
}

// Says is what one line says of a standby.
func (s *Standby) Says() string {
	what := "no whole round yet"
	if s.Last != nil {
		what = fmt.Sprintf("%s holds what %s had at %s", s.Target, s.Source, s.Last.At.UTC().Format(time.RFC3339))
	}
	switch l := s.Lost; {
	case l != nil && s.Last != nil:
		age, old := s.TooOld(l.Since)
		what += fmt.Sprintf(", %s before %s went silent", age, s.Source)
		if old {
			what += fmt.Sprintf(": older than maxAge (%s), so nothing begins there by itself", s.maxAge())
		}
	case l != nil:
		what += fmt.Sprintf(", and %s went silent at %s", s.Source, l.Since.UTC().Format(time.RFC3339))
	}
	switch {
	case s.Lost != nil && s.Lost.Certain && s.Last != nil:
		what += "; to begin there: skerry volume promote"
	case s.Lost != nil && s.Lost.Why != "":
		what += "; " + s.Lost.Why
	case s.Problem != "":
		what += "; " + s.Problem
	case s.Doing != "":
		what += "; " + s.Doing
	}
	return what
}
