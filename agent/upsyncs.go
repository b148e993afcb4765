package agent

import (
	"fmt"

	"skerry.dev/skerry/store"
)

// loadUpsyncs takes over the Upsyncs that the copy has, before anything is observed.
func (a *agent) loadUpsyncs() error {
	var keys []store.Key
	err := a.desired.Each(func(e store.Entry) error {
		if e.Key.IsUpsync() {
			keys = append(keys, e.Key)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the Upsyncs: %w", err)
	}
	a.upsyncsArrived(keys)
	return nil
}

// upsyncsArrived takes over the Upsyncs that a commit has changed.
func (a *agent) upsyncsArrived(keys []store.Key) {
	for _, k := range keys {
		if !k.IsUpsync() {
			continue
		}
		e, ok, err := a.desired.Get(k)
		if err != nil {
			a.Log.Error("an Upsync is not read; what it said before holds", "key", k, "err", err)
			continue
		}
		a.observer.SetUpsync(k, e, ok)
	}
}

// mayUpsync is why a space may bring nothing that was born here, nil where it may. Of what is below a
// relay its own sites decide.
func (a *agent) mayUpsync(space string) error {
	if a.permission == nil {
		return nil
	}
	return a.permission.Policy().Upsync(space)
}
