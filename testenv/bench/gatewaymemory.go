package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// controllersWatching is how many controllers watch, and watchedKinds what each of them does: in all
// namespaces, over a connection of its own. The gateway takes 128 requests of an account.
const controllersWatching = 20

var watchedKinds = []string{
	"/api/v1/configmaps", "/api/v1/secrets", "/api/v1/services", "/api/v1/pods", "/api/v1/serviceaccounts",
	"/api/v1/persistentvolumeclaims", "/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets",
	"/apis/apps/v1/daemonsets", "/apis/batch/v1/jobs", "/apis/rbac.authorization.k8s.io/v1/roles",
	"/apis/coordination.k8s.io/v1/leases",
}

// watchMemory measures what the watches of a controller cost the center and the agent, while 10
// objects a second change.
func (b *bench) watchMemory(ctx context.Context, w *gatewayWays) error {
	b.say("measure the memory of %d controllers with %d watches each", controllersWatching, len(watchedKinds))
	before, err := w.watched.sizes(ctx, 30*time.Second)
	if err != nil {
		return err
	}
	watching, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	failed := make(chan error, controllersWatching*len(watchedKinds))
	for i := range controllersWatching {
		k, err := drive.OpenKube(w.controllers[i%len(w.controllers)])
		if err != nil {
			return err
		}
		for _, path := range watchedKinds {
			began := make(chan struct{})
			running.Go(func() {
				err := k.Watch(watching, path, began, func(string, time.Time, json.RawMessage) {})
				if watching.Err() == nil {
					failed <- fmt.Errorf("watch %s: %w", path, err)
				}
			})
			select {
			case <-began:
			case err := <-failed:
				return err
			}
		}
	}
	for i := range 300 {
		name := fmt.Sprintf("%s/listed-%d", configMaps(gatewayNS), i%100)
		if err := w.near.MergePatch(ctx, name, object{"data": object{"turn": fmt.Sprint(i)}}); err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
	after, err := w.watched.sizes(ctx, 30*time.Second)
	if err != nil {
		return err
	}
	for i, p := range w.watched.watched {
		was, is := before[i], after[i]
		if err := b.print(figure.Line{Figure: "gateway-controller-rss-" + p.name,
			Value: (is.rss - was.rss) / controllersWatching, Unit: "KiB", N: controllersWatching,
			Note: fmt.Sprintf("per controller with %d watches; RSS %.1f MiB before, %.1f after 300 changes; "+
				"goroutines %.0f, %.0f", len(watchedKinds), was.rss/1024, is.rss/1024, was.goroutines, is.goroutines),
		}); err != nil {
			return err
		}
	}
	return nil
}
