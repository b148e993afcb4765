package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/scheduler"
)

// targetNames gives stored SyncTargets other names. The kube API cannot: there a name is for life, and
// an object of another name gets another UID. All decisions name the UID.
type targetNames struct{ s *Server }

// mostFormerNames is how many names of a SyncTarget are remembered.
const mostFormerNames = 8

// errChangedMeanwhile is returned where somebody else wrote the SyncTarget; it is tried again.
var errChangedMeanwhile = errors.New("it was changed meanwhile")

// Rename implements sessions.Renamer. It writes in the datastore itself, by compare and swap: the new
// object first, so that a center that dies in between has both and deletes the old one.
func (t targetNames) Rename(ctx context.Context, from, to string) error {
	if t.s.lead != nil && !t.s.lead.holds() {
		return fmt.Errorf("rename target %s: %w", from, scheduler.ErrFenced)
	}
	client := t.s.store.Client()
	old, err := client.Get(ctx, registrykey.SyncTarget(from), kubernetes.GetOptions{})
	if err != nil || old.KV == nil {
		return wrapRename(from, err)
	}
	now, err := client.Get(ctx, registrykey.SyncTarget(to), kubernetes.GetOptions{})
	if err != nil {
		return wrapRename(from, err)
	}
	if now.KV == nil {
		value, err := renamed(old.KV.Value, from, to)
		if err != nil {
			return wrapRename(from, err)
		}
		made, err := client.OptimisticPut(ctx, registrykey.SyncTarget(to), value, 0, kubernetes.PutOptions{})
		if err == nil && !made.Succeeded {
			err = errChangedMeanwhile
		}
		if err != nil {
			return wrapRename(from, err)
		}
	} else if err := sameObject(old.KV.Value, now.KV.Value); err != nil {
		return wrapRename(from, err)
	}
	// gofail: var renamedBeforeDelete struct{}
	return wrapRename(from, t.remove(ctx, old.KV))
}

// remove deletes the old object, whatever else was written to it meanwhile: the center writes its status.
func (t targetNames) remove(ctx context.Context, is *mvccpb.KeyValue) error {
	client := t.s.store.Client()
	for range 10 {
		gone, err := client.OptimisticDelete(ctx, string(is.Key), is.ModRevision,
			kubernetes.DeleteOptions{GetOnFailure: true})
		if err != nil || gone.Succeeded || gone.KV == nil {
			return err
		}
		is = gone.KV
	}
	return errChangedMeanwhile
}

func wrapRename(from string, err error) error {
	if err != nil {
		return fmt.Errorf("rename target %s: %w", from, err)
	}
	return nil
}

// renamed returns a stored SyncTarget by another name. It remembers the old one, and wishes no other.
func renamed(stored []byte, from, to string) ([]byte, error) {
	var obj map[string]any
	if err := json.Unmarshal(stored, &obj); err != nil {
		return nil, fmt.Errorf("read what is stored: %w", err)
	}
	meta := fields.Map(obj, "metadata")
	notes := fields.Map(meta, "annotations")
	if fields.String(meta, "name") != from || notes == nil {
		return nil, errors.New("what is stored is not the SyncTarget that was to be renamed")
	}
	names := []string{from}
	for _, n := range strings.Split(fields.String(notes, v1alpha1.AnnotationFormerNames), ",") {
		if n != "" && n != to && n != from {
			names = append(names, n)
		}
	}
	meta["name"] = to
	notes[v1alpha1.AnnotationRenames] = strconv.Itoa(renames(obj) + 1)
	notes[v1alpha1.AnnotationFormerNames] = strings.Join(names[:min(len(names), mostFormerNames)], ",")
	delete(notes, v1alpha1.AnnotationRenameTo)
	return json.Marshal(obj)
}

// renames is how often a SyncTarget was renamed.
func renames(obj map[string]any) int {
	return v1alpha1.Renames(fields.String(obj, "metadata", "annotations", v1alpha1.AnnotationRenames))
}

// sameObject reports an error unless now is what old was renamed to.
func sameObject(old, now []byte) error {
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(old, &a), json.Unmarshal(now, &b)); err != nil {
		return fmt.Errorf("read what is stored: %w", err)
	}
	if fields.String(a, "metadata", "uid") != fields.String(b, "metadata", "uid") || renames(b) <= renames(a) {
		return errors.New("another SyncTarget has the name")
	}
	return nil
}
