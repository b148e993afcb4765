package borrow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
)

// Table records which spaces borrow which groups of custom resources from which lender. A nil Table
// has no loans.
type Table struct {
	mu     sync.RWMutex
	lender map[string]map[string]string // space -> group -> whose definitions
	Known  chan struct{}                // closed once the Spaces have been read
}

// NewTable returns a table that is empty until it has read the Spaces.
func NewTable() *Table {
	return &Table{lender: map[string]map[string]string{}, Known: make(chan struct{})}
}

// Lender returns the space whose definitions of a group serve the given space, "" if it has its
// own.
func (b *Table) Lender(space, group string) string {
	if b == nil {
		return ""
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.lender[space][group]
}

// Of returns the groups that a space borrows, by lender.
func (b *Table) Of(space string) map[string][]string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := map[string][]string{}
	for group, lender := range b.lender[space] {
		out[lender] = append(out[lender], group)
	}
	return out
}

// Borrowers returns the sorted names of the spaces that borrow a group of a lender, or any group
// where the group is "".
func (b *Table) Borrowers(lender, group string) []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []string
	for space, groups := range b.lender {
		for g, l := range groups {
			if l == lender && (group == "" || g == group) {
				out = append(out, space)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// Run follows the Spaces until ctx ends.
func (b *Table) Run(ctx context.Context, c *clientv3.Client) error {
	return follow.Prefix(ctx, c, registrykey.SpacePrefix, b)
}

// Reset implements follow.Handler.
func (b *Table) Reset(_ int64, all []*mvccpb.KeyValue) error {
	next := map[string]map[string]string{}
	for _, kv := range all {
		if err := put(next, kv); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lender = next
	select {
	case <-b.Known:
	default:
		close(b.Known)
	}
	return nil
}

// Change implements follow.Handler.
func (b *Table) Change(e *clientv3.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.Type == mvccpb.Event_DELETE {
		delete(b.lender, strings.TrimPrefix(string(e.Kv.Key), registrykey.SpacePrefix))
		return nil
	}
	return put(b.lender, e.Kv)
}

// Progress implements follow.Handler.
func (*Table) Progress(int64) {}

func put(into map[string]map[string]string, kv *mvccpb.KeyValue) error {
	var s struct {
		Spec struct{ APIs []v1alpha1.SharedAPI }
	}
	if err := json.Unmarshal(kv.Value, &s); err != nil {
		return fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	name, groups := strings.TrimPrefix(string(kv.Key), registrykey.SpacePrefix), map[string]string{}
	for _, a := range s.Spec.APIs {
		groups[a.Group] = a.FromSpace
	}
	if delete(into, name); len(groups) > 0 {
		into[name] = groups
	}
	return nil
}
