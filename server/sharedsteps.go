package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/server/sessions"
)

// stepTime bounds how long a step of a rotation waits for the datastore.
const stepTime = 5 * time.Second

// sharedAuthorities are the authorities of a center of several replicas. A step of a rotation is in
// the datastore when it returns, or has not happened: a leader that dies right after it has told
// agents of no keys that its successor lacks.
type sharedAuthorities struct {
	*pki.PKI
	shared  *sharedKeys
	leads   func() bool
	changed func()
}

// authorities are those that package sessions rotates.
func (s *Server) authorities() sessions.Authorities {
	if s.shared == nil {
		return s.keys
	}
	return sharedAuthorities{s.keys, s.shared, s.lead.holds, s.rotated}
}

// Announce implements sessions.Authorities.
func (a sharedAuthorities) Announce() error { return a.step(a.PKI.Announce) }

// Switch implements sessions.Authorities.
func (a sharedAuthorities) Switch() error { return a.step(a.PKI.Switch) }

// Retire implements sessions.Authorities.
func (a sharedAuthorities) Retire() error { return a.step(a.PKI.Retire) }

// KeepNames implements sessions.Authorities.
func (a sharedAuthorities) KeepNames() error {
	if a.PKI.NamesKept() {
		return nil
	}
	return a.step(a.PKI.KeepNames)
}

// ForgetNames implements sessions.Authorities.
func (a sharedAuthorities) ForgetNames(names ...string) error {
	return a.step(func() error { return a.PKI.ForgetNames(names...) })
}

// step makes a step here and in the datastore, or in neither. What is signed meanwhile is signed
// with keys that are trusted in either case.
func (a sharedAuthorities) step(do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	k := a.shared
	k.mu.Lock()
	defer k.mu.Unlock()
	if !a.leads() {
		return errNotLeading
	}
	// A step whose answer was lost may have been made: then it is known now, and this one does not
	// follow.
	if err := k.catchUp(ctx, a.PKI, a.changed); err != nil {
		return fmt.Errorf("read the replicas' keys: %w", err)
	}
	err := do()
	if err == nil {
		err = k.publish(ctx)
	}
	if err == nil {
		return nil
	}
	if back := errors.Join(k.unpack(k.packed), a.Reload()); back != nil {
		return fmt.Errorf("%w; this replica has keys that the others lack, start it again: %w", err, back)
	}
	return err
}

// publish writes to the datastore what a step has changed, unless another replica has written there
// meanwhile.
func (k *sharedKeys) publish(ctx context.Context) error {
	packed, err := k.pack()
	if err != nil || bytes.Equal(packed, k.packed) {
		return err
	}
	sealed := k.seal.Seal(nil, nil, packed, nil)
	if err := k.store.Replace(ctx, sharedKeysName, k.there, sealed); err != nil {
		return fmt.Errorf("share this center's keys: %w", err)
	}
	k.there, k.packed = sealed, packed
	return nil
}
