package etcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/store"
)

// Keys of what replicas share, behind metaMark.
const (
	incarnationKey = "incarnation"
	erasKey        = "eras"
	sharedPrefix   = "shared/"
)

// Keep stores a value under a name unless there is one. It returns the one that is there.
func (c *Cluster) Keep(ctx context.Context, name string, value []byte) ([]byte, error) {
	return c.keep(ctx, sharedPrefix+name, value)
}

func (c *Cluster) keep(ctx context.Context, key string, value []byte) ([]byte, error) {
	resp, err := c.meta.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, string(value))).
		Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return nil, err
	}
	if resp.Succeeded {
		return value, nil
	}
	return resp.Responses[0].GetResponseRange().Kvs[0].Value, nil
}

// Replace stores a value in place of old. It reports false, and stores nothing, if old is not there
// any more.
func (c *Cluster) Replace(ctx context.Context, name string, old, value []byte) (bool, error) {
	key := sharedPrefix + name
	resp, err := c.meta.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), ">", 0),
			clientv3.Compare(clientv3.Value(key), "=", string(old))).
		Then(clientv3.OpPut(key, string(value))).Commit()
	if err != nil {
		return false, err
	}
	return resp.Succeeded, nil
}

// Kept returns the value under a name; nil if there is none.
func (c *Cluster) Kept(ctx context.Context, name string) ([]byte, error) {
	resp, err := c.meta.Get(ctx, sharedPrefix+name)
	if err != nil || len(resp.Kvs) == 0 {
		return nil, err
	}
	return resp.Kvs[0].Value, nil
}

// Incarnation returns the identity of the data, which the first replica makes.
func (c *Cluster) Incarnation(ctx context.Context) (store.Incarnation, error) {
	fresh := store.NewIncarnation()
	b, err := c.keep(ctx, incarnationKey, fresh[:])
	if err == nil && len(b) != len(fresh) {
		err = fmt.Errorf("%d bytes instead of %d", len(b), len(fresh))
	}
	if err != nil {
		return fresh, fmt.Errorf("read the incarnation: %w", err)
	}
	return store.Incarnation(b), nil
}

const (
	// maxEras is how many eras are remembered: they are one value, 160 kB.
	maxEras = 10_000
	// eraBytes is an era as it is stored: its name and where it began, big-endian.
	eraBytes = 16
)

// BeginEra records that this replica leads from now on, and returns all eras. The last leader has
// written all that it writes, so where the era begins may be read before it is recorded.
func (c *Cluster) BeginEra(ctx context.Context) (store.Eras, error) {
	for {
		eras, at, now, err := c.eras(ctx)
		if err != nil {
			return nil, err
		}
		eras = append(eras, store.EraStart{Era: store.NewEra(), From: now})
		eras = lastEras(eras)
		resp, err := c.meta.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(erasKey), "=", at)).
			Then(clientv3.OpPut(erasKey, string(encodeEras(eras)))).Commit()
		if err != nil {
			return nil, err
		}
		if resp.Succeeded {
			return eras, nil
		}
	}
}

// lastEras are those that are remembered.
func lastEras(eras store.Eras) store.Eras { return eras[max(0, len(eras)-maxEras):] }

// Eras returns the eras that have begun.
func (c *Cluster) Eras(ctx context.Context) (store.Eras, error) {
	eras, _, _, err := c.eras(ctx)
	return eras, err
}

// eras returns what is recorded, at which revision that was, and the newest revision.
func (c *Cluster) eras(ctx context.Context) (eras store.Eras, at, now int64, err error) {
	there, err := c.meta.Get(ctx, erasKey)
	if err != nil {
		return nil, 0, 0, err
	}
	if len(there.Kvs) > 0 {
		at = there.Kvs[0].ModRevision
		eras, err = decodeEras(there.Kvs[0].Value)
	}
	return eras, at, there.Header.Revision, err
}

func encodeEras(eras store.Eras) []byte {
	out := make([]byte, 0, len(eras)*eraBytes)
	for _, e := range eras {
		out = binary.BigEndian.AppendUint64(out, uint64(e.Era))
		out = binary.BigEndian.AppendUint64(out, uint64(e.From))
	}
	return out
}

func decodeEras(data []byte) (eras store.Eras, err error) {
	if len(data)%eraBytes != 0 || len(data) > maxEras*eraBytes {
		return nil, errors.New("the eras in the datastore cannot be read: another program has written them")
	}
	for ; len(data) > 0; data = data[eraBytes:] {
		eras = append(eras, store.EraStart{Era: store.Era(binary.BigEndian.Uint64(data)),
			From: int64(binary.BigEndian.Uint64(data[eraBytes/2:]))})
	}
	return eras, nil
}
