package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/server/pki"
)

// values is a datastore of replicas.
type values map[string][]byte

func (v values) Keep(_ context.Context, name string, value []byte) ([]byte, error) {
	if v[name] == nil {
		v[name] = value
	}
	return v[name], nil
}

func (v values) Replace(_ context.Context, name string, old, value []byte) error {
	if v["away"] != nil || !bytes.Equal(v[name], old) {
		return errors.New("refused")
	}
	v[name] = value
	return nil
}

func (v values) Kept(_ context.Context, name string) ([]byte, error) { return v[name], nil }

// phase is how far the rotation of some keys is, and what is trusted.
func phase(keys *pki.PKI) string {
	is := keys.Authorities()
	return fmt.Sprint(is.Phase, is.Generation, is.Bundle, is.Authority)
}

// Replicas have the same keys through a rotation; nothing of them is readable in the datastore, nor
// without the secret.
func TestReplicasShareTheirKeys(t *testing.T) {
	log, there := slog.New(slog.DiscardHandler), values{}
	secret := filepath.Join(t.TempDir(), "secret")
	fatal := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fatal(os.WriteFile(secret, []byte("0123456789012345678901234567890123456789\n"), 0o600))
	replica := func(secret string) (*sharedKeys, *pki.PKI, error) {
		k, err := newSharedKeys(there, filepath.Join(t.TempDir(), "pki"), secret, log)
		if err != nil {
			return nil, nil, err
		}
		keys, err := k.load(t.Context(), pki.Options{Dir: k.dir, Log: log})
		return k, keys, err
	}
	a, keysA, err := replica(secret)
	fatal(err)
	b, keysB, err := replica(secret)
	fatal(err)
	if keysA.Pin() != keysB.Pin() || keysA.ResetKey() != keysB.ResetKey() {
		t.Fatal("two replicas have different keys")
	}
	other := filepath.Join(t.TempDir(), "other")
	fatal(os.WriteFile(other, []byte("another secret, which is just as long as the first"), 0o600))
	if _, _, err := replica(other); !errors.Is(err, ErrSecret) {
		t.Errorf("with another secret: %v", err)
	}
	fatal(os.WriteFile(other, []byte("short"), 0o600))
	if _, _, err := replica(other); err == nil {
		t.Error("a secret of 5 bytes is taken")
	}
	changed, leads := 0, true
	said := func() { changed++ }
	steps := sharedAuthorities{keysA, a, func() bool { return leads }, said}
	same := func() {
		t.Helper()
		fatal(b.refresh(t.Context(), keysB, said))
		if keysA.Pin() != keysB.Pin() || phase(keysA) != phase(keysB) {
			t.Errorf("%s, and at the other one %s", phase(keysA), phase(keysB))
		}
	}
	same()
	if changed != 0 {
		t.Error("nothing changed, and it was said")
	}
	for _, step := range []func() error{steps.Announce, steps.Switch, steps.Retire} {
		before := phase(keysA)
		for name, why := range map[string]func(bool){
			"the datastore is away": func(is bool) { there["away"] = map[bool][]byte{true: {1}}[is] },
			"it leads no more":      func(is bool) { leads = !is },
		} {
			why(true)
			if err := step(); err == nil || phase(keysA) != before {
				t.Errorf("%s: %v, and %s is now %s", name, err, before, phase(keysA))
			}
			why(false)
		}
		same()
		fatal(step())
		same() // without another word from the leader, which may be dead
	}
	if changed != 3 {
		t.Errorf("%d changes were said", changed)
	}
	// What another replica did as the leader counts, and a step that does not follow it is none.
	fatal(sharedAuthorities{keysB, b, func() bool { return true }, said}.Announce())
	if err := steps.Announce(); !errors.Is(err, pki.ErrPhase) {
		t.Errorf("announced twice: %v", err)
	}
	same()
	fatal(steps.Switch())
	same()
	fatal(steps.Retire())
	same()
	entries, _ := os.ReadDir(b.dir)
	if mine, _ := os.ReadDir(a.dir); len(mine) != len(entries) {
		t.Errorf("%d and %d files: what was retired is left", len(mine), len(entries))
	}
}
