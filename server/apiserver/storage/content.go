package storage

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

func (s *Storages) nativePrefixes() map[string]schema.GroupResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.native)
}

// Keys lists everything that is stored in a space. It reads all keys of the center: it is for rare
// questions, like whether a space may be deleted.
func (s *Storages) Keys(ctx context.Context, space string) ([]store.Key, error) {
	var out []store.Key
	err := s.eachKey(ctx, space, func(_ *mvccpb.KeyValue, k store.Key) error {
		out = append(out, k)
		return nil
	})
	return out, err
}

// Namespaces lists the namespaces of a space as they are stored now.
func (s *Storages) Namespaces(ctx context.Context, space string) ([]string, error) {
	prefix := registrykey.Prefix + "/namespaces/" + space + "/"
	_, all, err := follow.List(ctx, s.config.Client.Client, prefix, clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, kv := range all {
		names[i] = strings.TrimPrefix(string(kv.Key), prefix)
	}
	return names, nil
}

// Purge deletes everything that is stored in a space, finalizers or not, and tells after each
// object how many are left. Watchers see each deletion.
func (s *Storages) Purge(ctx context.Context, space string, progress func(left int)) error {
	if space == request.RootSpace || space == request.OwnSpace || space == "" {
		return fmt.Errorf("space %q cannot be purged", space)
	}
	var all []*mvccpb.KeyValue
	err := s.eachKey(ctx, space, func(kv *mvccpb.KeyValue, _ store.Key) error {
		all = append(all, kv)
		return nil
	})
	for i, kv := range all {
		if err == nil {
			err = s.deleteKey(ctx, kv)
		}
		if err != nil {
			return fmt.Errorf("delete %s: %w", kv.Key, err)
		}
		progress(len(all) - i - 1)
	}
	return err
}

// deleteKey deletes a key at whatever revision it has: kine deletes only a named revision.
func (s *Storages) deleteKey(ctx context.Context, kv *mvccpb.KeyValue) error {
	key, revision := string(kv.Key), kv.ModRevision
	for {
		resp, err := s.config.Client.OptimisticDelete(ctx, key, revision, kubernetes.DeleteOptions{GetOnFailure: true})
		if err != nil || resp.Succeeded || resp.KV == nil {
			return err
		}
		revision = resp.KV.ModRevision
	}
}

func (s *Storages) eachKey(ctx context.Context, space string, visit func(*mvccpb.KeyValue, store.Key) error) error {
	native := s.nativePrefixes()
	from, end := registrykey.Prefix+"/", clientv3.GetPrefixRangeEnd(registrykey.Prefix+"/")
	for {
		resp, err := s.config.Client.Client.Get(
			ctx,
			from,
			clientv3.WithRange(end),
			clientv3.WithLimit(4*follow.PageSize),
			clientv3.WithKeysOnly(),
		)
		if err != nil {
			return fmt.Errorf("list keys of space %s: %w", space, err)
		}
		for _, kv := range resp.Kvs {
			if k, ok := registrykey.Parse(native, string(kv.Key)); ok && k.Space == space {
				if err := visit(kv, k); err != nil {
					return err
				}
			}
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return nil
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
}

// StoredBelow returns the prefix of the keys of a resource, in all spaces.
func (s *Storages) StoredBelow(gr schema.GroupResource) string {
	for prefix, native := range s.nativePrefixes() {
		if native == gr {
			return registrykey.Prefix + "/" + prefix + "/"
		}
	}
	return registrykey.Prefix + "/" + gr.Group + "/" + gr.Resource + "/"
}
