package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/keyfile"
)

// ErrPhase is returned by a step that does not follow the present phase.
var ErrPhase = errors.New("the rotation is not at this step")

// state says which generations count. It is one small file, so that each step of a rotation happens
// at one moment, or not at all.
type state struct {
	// Current signs. Next is trusted and will sign; Old is still trusted. 0 is none, and one of the
	// two always is.
	Current int64 `json:"current"`
	Next    int64 `json:"next,omitempty"`
	Old     int64 `json:"old,omitempty"`
	// Since is when it became so.
	Since time.Time `json:"since"`
	// Names are those that the center's certificate has until somebody takes them off.
	Names []string `json:"names,omitempty"`
}

// StateFile is the file of the directory that says which generations of keys count.
const StateFile = "authorities.json"

func readState(dir string) (s state, err error) {
	path := filepath.Join(dir, StateFile)
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && (s.Current < 1 || s.Next != 0 && s.Old != 0) {
		err = errors.New("no generation signs, or three are there at once")
	}
	if err != nil {
		return state{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func (s state) write(dir string) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return keyfile.Replace(filepath.Join(dir, StateFile), append(data, '\n'))
}

func (s state) phase() v1alpha1.AuthoritiesPhase {
	switch {
	case s.Next != 0:
		return v1alpha1.AuthoritiesAnnounced
	case s.Old != 0:
		return v1alpha1.AuthoritiesSwitched
	default:
		return v1alpha1.AuthoritiesStable
	}
}

// Authorities tells how far a rotation is.
func (p *PKI) Authorities() v1alpha1.AuthoritiesStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	var former []v1alpha1.FormerName
	for _, name := range p.formerLocked() {
		former = append(former, v1alpha1.FormerName{Name: name})
	}
	return v1alpha1.AuthoritiesStatus{
		Phase: p.state.phase(), Generation: p.state.Current, Since: metav1.NewTime(
			p.state.Since,
		), Until: metav1.NewTime(p.trusted.current.server.cert.NotAfter),
		Bundle: p.told.name, Authority: p.told.authority, FormerNames: former,
	}
}

// Announce makes the next generation and trusts it from now on, also after a crash.
func (p *PKI) Announce() error {
	return p.step(v1alpha1.AuthoritiesStable, func(s *state, t *trusted) (err error) {
		s.Next = s.Current + 1
		t.next, err = makeGeneration(p.dir, s.Next, t.current)
		return err
	})
}

// Switch signs with the next generation from now on. The old one stays trusted.
func (p *PKI) Switch() error {
	return p.step(v1alpha1.AuthoritiesAnnounced, func(s *state, t *trusted) error {
		s.Current, s.Old, s.Next = s.Next, s.Current, 0
		t.current, t.old, t.next = t.next, t.current, nil
		return nil
	})
}

// Retire ends the trust in the old generation and removes its keys.
func (p *PKI) Retire() error {
	err := p.step(v1alpha1.AuthoritiesSwitched, func(s *state, t *trusted) error {
		s.Old, t.old = 0, nil
		return nil
	})
	if err != nil {
		return err
	}
	return p.sweep()
}

// step changes the state, durably first.
func (p *PKI) step(from v1alpha1.AuthoritiesPhase, do func(*state, *trusted) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state.phase() != from {
		return fmt.Errorf("%w: it is %s, not %s", ErrPhase, p.state.phase(), from)
	}
	s, t := p.state, p.trusted
	s.Since = time.Now()
	err := do(&s, &t)
	if err == nil {
		err = s.write(p.dir)
	}
	if err != nil {
		return fmt.Errorf("rotate the center's authorities: %w", err)
	}
	p.state, p.trusted, p.told = s, t, t.tell()
	return nil
}

// sweep removes the keys of generations that do not count: what a crash left of a step, and what
// was retired.
func (p *PKI) sweep() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, n := range []int64{p.state.Current, p.state.Next, p.state.Old} {
		keep[filepath.Base(generationDir(p.dir, n))] = true
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && !keep[name] && strings.HasPrefix(strings.TrimPrefix(name, "."), "ca-") {
			if err := os.RemoveAll(filepath.Join(p.dir, name)); err != nil {
				return fmt.Errorf("remove retired keys: %w", err)
			}
		}
	}
	return nil
}
