package summary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/store"
)

// recorder writes Events. An event that is equal but for its time has the same name, so it is
// counted, also after a restart.
type recorder struct {
	api   API
	log   *slog.Logger
	queue queue.Queue[placement.Event]
}

func newRecorder(api API, log *slog.Logger) *recorder {
	return &recorder{api: api, log: log, queue: queue.NewFair(firstDelay, longestDelay,
		func(e placement.Event) string { return e.Key.Space })}
}

func (r *recorder) record(e placement.Event) { r.queue.Add(e) }

// tries is how often an Event is tried before it is given up: it is a courtesy, not a record.
const tries = 5

func (r *recorder) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() {
		for {
			e, down := r.queue.Get()
			if down {
				return
			}
			if err := r.write(ctx, e); err == nil {
				r.queue.Forget(e)
			} else if r.queue.NumRequeues(e) < tries && ctx.Err() == nil {
				r.queue.AddRateLimited(e)
			} else {
				r.log.Warn("event is not written", "key", e.Key.String(), "reason", e.Reason, "err", err)
				r.queue.Forget(e)
			}
			r.queue.Done(e)
		}
	})
	<-ctx.Done()
	r.queue.ShutDown()
	running.Wait()
}

func (r *recorder) write(ctx context.Context, e placement.Event) error {
	k, now := eventKey(e), time.Now().UTC().Format(time.RFC3339)
	_, err := r.api.Create(ctx, k, "v1", eventObject(e, k, now))
	switch {
	case err == nil, namespaceGoes(err):
		return nil
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("create event %s: %w", k, err)
	}
	old, err := r.api.Get(ctx, k, "v1")
	if err != nil {
		return fmt.Errorf("read event %s: %w", k, err)
	}
	patch, err := json.Marshal(map[string]any{"count": num(old["count"]) + 1, "lastTimestamp": now})
	if err != nil {
		return fmt.Errorf("encode event %s: %w", k, err)
	}
	if _, err := r.api.Patch(ctx, k, "v1", "", patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("count event %s: %w", k, err)
	}
	return nil
}

// eventKey names an Event by what it says. Events of cluster-scoped objects are in the namespace
// default.
func eventKey(e placement.Event) store.Key {
	sum := sha256.Sum256([]byte(e.Key.Encode() + "\x00" + e.UID + "\x00" + e.Reason + "\x00" + e.Message))
	k := store.Key{Space: e.Key.Space, Resource: "events", Namespace: e.Key.Namespace}
	k.Name = trim(e.Key.Name, 230) + "." + hex.EncodeToString(sum[:8])
	if k.Namespace == "" {
		k.Namespace = "default"
	}
	return k
}

func eventObject(e placement.Event, k store.Key, now string) map[string]any {
	kind := "Normal"
	if e.Warning {
		kind = "Warning"
	}
	about := map[string]any{"apiVersion": e.APIVersion, "kind": e.Kind, "name": e.Key.Name, "uid": e.UID}
	if e.Key.Namespace != "" {
		about["namespace"] = e.Key.Namespace
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]any{"name": k.Name, "namespace": k.Namespace},
		"involvedObject": about,
		"type":           kind, "reason": e.Reason, "message": trim(e.Message, 1024),
		"source": map[string]any{"component": "skerry"}, "reportingComponent": reporter, "reportingInstance": "center",
		"firstTimestamp": now, "lastTimestamp": now, "count": int64(1),
	}
}

func trim(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
