package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// floor is the small program that nothing can be much faster than: it watches a collection of one
// API and applies each object to the other, one after another, until its context ends.
func floor(
	ctx context.Context,
	from, to *drive.Kube,
	path string,
	apply func(ctx context.Context, to *drive.Kube, obj object) error,
) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- from.Watch(ctx, path, began, func(typ string, _ time.Time, raw json.RawMessage) {
			var obj object
			if typ == "DELETED" || typ == "BOOKMARK" || json.Unmarshal(raw, &obj) != nil {
				return
			}
			// An object that the other side refuses shows as a missing arrival: the measurement
			// fails by its deadline.
			_ = apply(ctx, to, obj)
		})
	}()
	select {
	case <-began:
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("the floor's watch: %w", err)
	}
	return func() { cancel(); <-ended }, nil
}

// applyTo returns the function that server-side applies objects into a collection.
func applyTo(path string) func(context.Context, *drive.Kube, object) error {
	return func(ctx context.Context, to *drive.Kube, obj object) error {
		meta, ok := obj["metadata"].(object)
		if !ok {
			return errors.New("no metadata")
		}
		name := fmt.Sprint(meta["name"])
		clean := object{"name": name}
		if labels, ok := meta["labels"]; ok {
			clean["labels"] = labels
		}
		delete(obj, "status")
		obj["metadata"] = clean
		body, err := json.Marshal(obj)
		if err != nil {
			return err
		}
		_, err = to.Do(ctx, "PATCH", path+"/"+name+"?fieldManager=floor&force=true", "application/apply-patch+yaml", body)
		return err
	}
}

// statusTo returns the function that copies an object's status to its twin.
func statusTo(path string) func(context.Context, *drive.Kube, object) error {
	return func(ctx context.Context, to *drive.Kube, obj object) error {
		meta, ok := obj["metadata"].(object)
		if !ok || obj["status"] == nil {
			return nil
		}
		return to.MergePatch(ctx, fmt.Sprintf("%s/%v/status", path, meta["name"]), object{"status": obj["status"]})
	}
}
