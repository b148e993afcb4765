package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/restore"
)

// Keys of a restore, behind metaMark.
const (
	// restoringKey names the restore that is under way, or has broken off.
	restoringKey = "restoring"
	// shiftKey has how many revisions are added to those of the cluster (shifted), in decimal.
	shiftKey = "revisions"
)

const (
	// quietTime is how long nothing may be written to a cluster whose keys are to be replaced. The
	// leader of a center renews its lease each second.
	quietTime = 5 * time.Second
	// removedPage is how many keys are removed at once.
	removedPage = 1000
)

// Look tells what a cluster holds below the prefix, and changes nothing.
func Look(ctx context.Context, c Config) (restore.There, error) {
	s, err := connect(ctx, c)
	if err != nil {
		return restore.There{}, err
	}
	there, _, err := s.look(ctx)
	return there, errors.Join(err, s.Close())
}

// past is what a cluster says of earlier restores.
type past struct {
	mark  int64 // the revision of restoringKey; 0 is none
	shift int64
}

func (c *Cluster) look(ctx context.Context) (there restore.There, p past, err error) {
	resp, err := c.meta.Txn(ctx).Then(clientv3.OpGet(restoringKey), clientv3.OpGet(shiftKey),
		clientv3.OpGet(incarnationKey)).Commit()
	if err != nil {
		return there, p, err
	}
	if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		there.Unfinished, p.mark = true, kvs[0].ModRevision
	}
	if kvs := resp.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		if p.shift, err = decodeShift(kvs[0].Value); err != nil {
			return there, p, err
		}
	}
	if kvs := resp.Responses[2].GetResponseRange().Kvs; len(kvs) > 0 &&
		len(kvs[0].Value) == len(store.Incarnation{}) {
		there.Incarnation = new(store.Incarnation(kvs[0].Value))
	}
	there.Revision = resp.Header.Revision + p.shift
	if there.Foreign, err = c.foreign(ctx); err != nil {
		return there, p, err
	}
	for _, mark := range []string{objectMark, metaMark} {
		counted, err := c.raw.Get(
			ctx,
			c.address.prefix+mark,
			clientv3.WithPrefix(),
			clientv3.WithCountOnly(),
		)
		if err != nil {
			return there, p, err
		}
		there.Keys += counted.Count
	}
	return there, p, nil
}

// objectRoots are what keys of a center begin with, behind the prefix.
var objectRoots = []string{"/registry/", "/skerry/"}

// foreign reports whether something else stands below the prefix, such as a center with a longer one.
func (c *Cluster) foreign(ctx context.Context) (bool, error) {
	end := clientv3.GetPrefixRangeEnd(c.address.prefix + objectMark)
	from := c.address.prefix + objectMark
	for _, root := range append(objectRoots, "") {
		next := end
		if root != "" {
			next = c.address.prefix + root
		}
		between, err := c.raw.Get(ctx, from, clientv3.WithRange(next), clientv3.WithCountOnly())
		if err != nil || between.Count > 0 {
			return err == nil, err
		}
		from = clientv3.GetPrefixRangeEnd(next)
	}
	return false, nil
}

// opened returns the shift of the cluster's revisions, or why no center may open it.
func (c *Cluster) opened(ctx context.Context) (shift int64, err error) {
	there, p, err := c.look(ctx)
	if err == nil && there.Unfinished {
		err = restore.ErrUnfinished
	}
	return p.shift, err
}

func decodeShift(text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf(
			"the datastore's key %q is %.20q and no number: another program has written it",
			shiftKey,
			text,
		)
	}
	return n, nil
}

// Restore writes the content of a copy below the prefix. Until its last step the cluster has a mark,
// and no center opens it.
//
// The revisions of a cluster are its own. Those that the center shows begin after all that the copy,
// and what it replaces, have shown.
func Restore(ctx context.Context, c Config, from restore.Content, o restore.Options) (err error) {
	s, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	there, p, err := s.look(ctx)
	if err == nil {
		err = there.Allows(o.Replace)
	}
	if err == nil && there.Keys > 0 {
		err = s.quiet(ctx)
	}
	if err != nil {
		return err
	}
	r := &restoring{cluster: s, id: rand.Text(), shift: p.shift}
	if err := r.begin(ctx, p.mark, from.Revision()); err != nil {
		return err
	}
	if err := r.run(ctx, from, o); err != nil {
		return fmt.Errorf("%w; what is there now is no center's: restore again with --replace", err)
	}
	return nil
}

// quiet waits, and returns restore.ErrInUse if something is written meanwhile.
func (c *Cluster) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	for resp := range c.client.Watch(ctx, c.address.prefix+objectMark, clientv3.WithPrefix()) {
		if len(resp.Events) > 0 {
			return restore.ErrInUse
		}
		if err := resp.Err(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("see whether a center writes to the datastore: %w", err)
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

// restoring is a restore under way.
type restoring struct {
	cluster *Cluster
	id      string // what the mark has
	shift   int64
}

// begin sets the mark in the place of one that was there, and finds the shift.
func (r *restoring) begin(ctx context.Context, mark, revision int64) error {
	resp, err := r.cluster.meta.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(restoringKey), "=", mark)).
		Then(clientv3.OpPut(restoringKey, r.id)).Commit()
	if err != nil {
		return err
	}
	if !resp.Succeeded {
		return restore.ErrOvertaken
	}
	r.shift = max(r.shift, revision-resp.Header.Revision)
	return nil
}

// write makes changes that may be made twice.
func (r *restoring) write(ctx context.Context, ops ...clientv3.Op) (revision int64, err error) {
	err = again(ctx, func() (err error) {
		revision, err = r.once(ctx, ops...)
		return err
	})
	return revision, err
}

// once makes changes if the mark is still that of this restore.
func (r *restoring) once(ctx context.Context, ops ...clientv3.Op) (revision int64, err error) {
	mark := r.cluster.address.prefix + metaMark + restoringKey
	resp, err := r.cluster.raw.Txn(
		ctx,
	).If(
		clientv3.Compare(clientv3.Value(mark), "=", r.id),
	).Then(
		ops...).Commit()
	if err != nil {
		return 0, err
	}
	if !resp.Succeeded {
		return 0, restore.ErrOvertaken
	}
	return resp.Header.Revision, nil
}

func (r *restoring) run(ctx context.Context, from restore.Content, o restore.Options) error {
	prefix := r.cluster.address.prefix
	for _, what := range []string{objectMark, metaMark + sharedPrefix, metaMark + compactKey} {
		if err := r.remove(ctx, prefix+what); err != nil {
			return fmt.Errorf("remove what is in the datastore: %w", err)
		}
	}
	if err := r.keys(ctx, from, o.Count); err != nil {
		return fmt.Errorf("write to the datastore: %w", err)
	}
	incarnation, meta := from.Incarnation(), prefix+metaMark
	ops := []clientv3.Op{
		clientv3.OpPut(meta+incarnationKey, string(incarnation[:])),
		clientv3.OpPut(meta+erasKey, string(encodeEras(lastEras(restore.Eras(from))))),
		clientv3.OpPut(meta+shiftKey, strconv.FormatInt(r.shift, 10)),
	}
	for name, value := range o.Shared {
		ops = append(ops, clientv3.OpPut(meta+sharedPrefix+name, string(value)))
	}
	if err := r.forget(ctx); err != nil {
		return err
	}
	if _, err := r.once(ctx, append(ops, clientv3.OpDelete(meta+restoringKey))...); err != nil {
		return fmt.Errorf("end the restore: %w", err)
	}
	return nil
}

// forget compacts what the keys were before: a read as of then would find a part of them.
func (r *restoring) forget(ctx context.Context) error {
	mark := r.cluster.address.prefix + metaMark + restoringKey
	at, err := r.write(ctx, clientv3.OpPut(mark, r.id)) // also where the copy has no key
	if err == nil {
		_, err = r.cluster.raw.Compact(ctx, at)
	}
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return fmt.Errorf("compact the datastore: %w", err)
	}
	return nil
}

// remove deletes all keys with a prefix.
func (r *restoring) remove(ctx context.Context, prefix string) error {
	for {
		page, err := r.cluster.raw.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(),
			clientv3.WithLimit(removedPage))
		if err != nil || len(page.Kvs) == 0 {
			return err
		}
		end := string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		if _, err := r.write(
			ctx,
			clientv3.OpDelete(string(page.Kvs[0].Key), clientv3.WithRange(end)),
		); err != nil {
			return err
		}
	}
}
