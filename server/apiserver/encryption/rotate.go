package encryption

import (
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
)

// Outcome is what a rotation has done.
type Outcome struct {
	// Writes names what encrypts each resource now.
	Writes map[string]string
	// Rewritten is how many values were encrypted anew.
	Rewritten int
}

// Settled reports whether all values are encrypted with the present keys, so that a rotation has
// nothing to do.
func (e *Encryption) Settled(ctx context.Context) (bool, error) {
	stored, _, err := load(ctx, e.Client)
	if err != nil {
		return false, err
	}
	for _, proofs := range stored {
		if len(proofs) > 1 {
			return false, nil
		}
	}
	return !e.Managed || len(e.now.Load().keys) < 2, nil
}

// Rotate adds a new key where the key file is managed, makes it the one that encrypts, and encrypts
// all values of older keys again. It continues a rotation that was cut off. Only one replica may
// call it at a time. prefix returns where the values of a resource are stored.
func (e *Encryption) Rotate(
	ctx context.Context,
	fresh bool,
	prefix func(schema.GroupResource) string,
) (Outcome, error) {
	if err := e.switchKey(ctx, fresh); err != nil {
		return Outcome{}, err
	}
	rewritten, err := e.rewriteAll(ctx, prefix)
	if err != nil {
		return Outcome{}, err
	}
	return e.forget(ctx, rewritten)
}

// switchKey makes another key the one that encrypts: a present one that has encrypted nothing yet,
// else a new one.
func (e *Encryption) switchKey(ctx context.Context, fresh bool) error {
	s := e.now.Load()
	if !e.Managed || s.of[secrets] != nil {
		return nil
	}
	stored, _, err := load(ctx, e.Client)
	if err != nil {
		return err
	}
	used := stored.ids()
	next := slices.IndexFunc(s.keys, func(k key) bool { return !slices.Contains(used, localPrefix+k.id()) })
	switch {
	case next < 0 && (!fresh || len(s.keys) > 1): // nothing is wanted, or it has switched already
		return nil
	case next < 0:
		if err := e.change(func(keys []key) []key { return append(keys, newKey()) }); err != nil {
			return fmt.Errorf("add a key: %w", err)
		}
		if err := e.settle(ctx); err != nil {
			return err
		}
		s = e.now.Load()
		next = len(s.keys) - 1
	}
	first := func(keys []key) []key {
		return append([]key{keys[next]}, slices.Delete(slices.Clone(keys), next, next+1)...)
	}
	if err := e.note(ctx, newState(first(s.keys), e.p)); err != nil {
		return err
	}
	if err := e.change(first); err != nil {
		return fmt.Errorf("use the new key: %w", err)
	}
	e.Log.Info("a new key encrypts what this center stores", "key", e.now.Load().keys[0].id())
	return e.settle(ctx)
}

// change replaces the keys of the managed file, here and at the other replicas.
func (e *Encryption) change(how func([]key) []key) error {
	err := e.Change(func() error {
		keys, err := readKeys(e.KeyFile)
		if err != nil {
			return err
		}
		return writeKeys(e.KeyFile, how(keys))
	})
	if err != nil {
		return err
	}
	return e.Reload()
}

// settle waits until the other replicas use what was changed.
func (e *Encryption) settle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(e.Settle):
		return nil
	}
}

// rewriteAll encrypts values again until none of an older key is left.
func (e *Encryption) rewriteAll(ctx context.Context, prefix func(schema.GroupResource) string) (total int, err error) {
	for _, gr := range e.now.Load().encrypted() {
		for {
			n, err := e.rewrite(ctx, gr, prefix(gr))
			if err != nil {
				return total, fmt.Errorf("encrypt %s anew: %w", gr, err)
			}
			if total += n; n == 0 {
				break
			}
		}
	}
	return total, nil
}

// rewritePage is how many values one read asks for.
const rewritePage = 50

// rewrite reads all values of a resource once and returns how many an older key had encrypted.
func (e *Encryption) rewrite(ctx context.Context, gr schema.GroupResource, prefix string) (stale int, err error) {
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		page, err := e.Client.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(rewritePage))
		if err != nil {
			return stale, err
		}
		for _, kv := range page.Kvs {
			t, at := e.TransformerForResource(gr), value.DefaultContext(kv.Key)
			data, old, err := t.TransformFromStorage(ctx, kv.Value, at)
			if err != nil {
				return stale, fmt.Errorf("%s: %w", kv.Key, err)
			}
			if !old {
				continue
			}
			stale++
			if data, err = t.TransformToStorage(ctx, data, at); err != nil {
				return stale, fmt.Errorf("%s: %w", kv.Key, err)
			}
			// If somebody has written meanwhile, the next pass finds what they wrote.
			if _, err = e.Client.Kubernetes.OptimisticPut(
				ctx,
				string(kv.Key),
				data,
				kv.ModRevision,
				kubernetes.PutOptions{GetOnFailure: true, LeaseID: clientv3.LeaseID(kv.Lease)},
			); err != nil {
				return stale, err
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return stale, nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// forget drops the old keys: from the record, and later from the file, when every reader of the
// changes has gone past what they had encrypted.
func (e *Encryption) forget(ctx context.Context, rewritten int) (o Outcome, err error) {
	s, next := e.now.Load(), record{}
	o = Outcome{Writes: map[string]string{}, Rewritten: rewritten}
	for _, gr := range s.encrypted() {
		p, err := prove(ctx, s.transformer(gr))
		if err != nil {
			return o, err
		}
		next[gr.String()], o.Writes[gr.String()] = []proof{p}, p.ID
	}
	_, revision, err := load(ctx, e.Client)
	if err != nil {
		return o, err
	}
	if err := save(ctx, e.Client, next, revision); err != nil {
		return o, err
	}
	if len(s.keys) < 2 {
		return o, nil
	}
	if !e.Managed || s.of[secrets] != nil {
		e.Log.Info(
			"only the first key of the key file is needed any more; the others can be removed",
			"file",
			e.KeyFile,
		)
		return o, nil
	}
	if err := e.settle(ctx); err != nil {
		return o, err
	}
	if err := e.change(func(keys []key) []key { return keys[:1] }); err != nil {
		return o, fmt.Errorf("forget the old key: %w", err)
	}
	return o, nil
}
