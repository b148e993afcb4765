package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// gateway measures what a controller costs whose pods are at a site: its requests through the
// gateway beside those at the center itself, a webhook by Service beside one by URL, and the memory
// of center and agent for its watches.
func (b *bench) gateway(ctx context.Context) error {
	w, err := b.startGateway(ctx)
	if err != nil {
		return err
	}
	url, err := b.hookPods(ctx, w)
	if err != nil {
		return err
	}
	for i := range 100 {
		if err := w.near.Create(ctx, configMaps(gatewayNS), configMap(fmt.Sprintf("listed-%d", i))); err != nil {
			return err
		}
	}
	if err := b.registerHooks(ctx, w, url); err != nil {
		return err
	}
	for _, at := range []struct {
		rtt    time.Duration
		suffix string
		rounds int
	}{{0, "", 300}, {100 * time.Millisecond, "-rtt100", 100}} {
		b.say("measure requests and webhooks at a round trip of %s", at.rtt)
		w.link.SetRTT(at.rtt)
		w.directLink.SetRTT(at.rtt)
		for _, measure := range []func(context.Context, *gatewayWays, string, time.Duration, int) error{
			b.gatewayLists, b.gatewayWatches, b.gatewayWrites, b.webhookCalls,
		} {
			if err := measure(ctx, w, at.suffix, at.rtt, at.rounds); err != nil {
				return err
			}
		}
		if err := w.onlyListed(ctx); err != nil {
			return err
		}
	}
	w.link.SetRTT(0)
	return b.watchMemory(ctx, w)
}

// onlyListed deletes what a round of measures has made, so that the next one lists 100 objects, too.
func (w *gatewayWays) onlyListed(ctx context.Context) error {
	body, err := w.near.Do(ctx, http.MethodGet, configMaps(gatewayNS), "", nil)
	if err != nil {
		return err
	}
	var list struct{ Items []object }
	if err := json.Unmarshal(body, &list); err != nil {
		return err
	}
	for _, o := range list.Items {
		name := nameOf(o)
		if strings.HasPrefix(name, "seen") || strings.HasPrefix(name, "written") {
			if _, err := w.near.Do(ctx, http.MethodDelete, configMaps(gatewayNS)+"/"+name, "", nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// bothWays measures the same request through the gateway and at the center itself, taking turns.
func (b *bench) bothWays(
	ctx context.Context,
	w *gatewayWays,
	name string,
	rounds int,
	once func(context.Context, *drive.Kube) error,
) error {
	var took, floor []time.Duration
	for i := range rounds + 3 { // the first three open connections
		for _, way := range []struct {
			k    *drive.Kube
			into *[]time.Duration
		}{{w.direct, &floor}, {w.through, &took}} {
			d, err := timed(func() error { return once(ctx, way.k) })
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if i >= 3 {
				*way.into = append(*way.into, d)
			}
		}
	}
	return b.percentiles(name, took, floor, nil, "the floor is the center itself, at the same distance")
}

// percentiles prints p50 and p99 of two ways. more is added to the floor for the goal; nil is none.
func (b *bench) percentiles(name string, took, floor []time.Duration, more *float64, note string) error {
	for _, p := range []float64{50, 99} {
		line := figure.Line{Figure: fmt.Sprintf("%s-p%.0f", name, p), Value: figure.Percentile(took, p), Unit: "ms",
			Floor: figure.Of(figure.Percentile(floor, p)), N: len(took), Note: note}
		if more != nil {
			line.Goal = figure.Of(figure.Percentile(floor, p) + *more)
		}
		if err := b.print(line); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) gatewayLists(
	ctx context.Context, w *gatewayWays, suffix string, _ time.Duration, rounds int,
) error {
	return b.bothWays(ctx, w, "gateway-list-100"+suffix, rounds, func(ctx context.Context, k *drive.Kube) error {
		_, err := k.Do(ctx, http.MethodGet, configMaps(gatewayNS), "", nil)
		return err
	})
}

func (b *bench) gatewayWrites(
	ctx context.Context, w *gatewayWays, suffix string, _ time.Duration, _ int,
) error {
	made := 0
	return b.bothWays(ctx, w, "gateway-write"+suffix, 100, func(ctx context.Context, k *drive.Kube) error {
		made++
		return k.Create(ctx, configMaps(gatewayNS), configMap(fmt.Sprintf("written%s-%d", suffix, made)))
	})
}

// gatewayWatches measures how long after the beginning of a write its event is there. Both ways watch
// the same writes, which are made beside the center.
func (b *bench) gatewayWatches(
	ctx context.Context, w *gatewayWays, suffix string, _ time.Duration, rounds int,
) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	type arrival struct {
		name string
		at   time.Time
	}
	open := func(k *drive.Kube) (<-chan arrival, error) {
		arrived, began, failed := make(chan arrival, 64), make(chan struct{}), make(chan error, 1)
		running.Go(func() {
			failed <- k.Watch(ctx, configMaps(gatewayNS), began, func(_ string, at time.Time, o json.RawMessage) {
				var obj struct {
					Metadata struct {
						Name string `json:"name"`
					} `json:"metadata"`
				}
				if json.Unmarshal(o, &obj) == nil {
					select {
					case arrived <- arrival{obj.Metadata.Name, at}:
					case <-ctx.Done():
					}
				}
			})
		})
		select {
		case <-began:
			return arrived, nil
		case err := <-failed:
			return nil, fmt.Errorf("watch: %w", err)
		}
	}
	direct, err := open(w.direct)
	if err != nil {
		return err
	}
	through, err := open(w.through)
	if err != nil {
		return err
	}
	var took, floor []time.Duration
	for i := range rounds {
		name := fmt.Sprintf("seen%s-%d", suffix, i)
		began := time.Now()
		if err := w.near.Create(ctx, configMaps(gatewayNS), configMap(name)); err != nil {
			return err
		}
		for _, way := range []struct {
			arrived <-chan arrival
			into    *[]time.Duration
		}{{direct, &floor}, {through, &took}} {
			for seen := false; !seen; {
				select {
				case a := <-way.arrived:
					if seen = a.name == name; seen {
						*way.into = append(*way.into, a.at.Sub(began))
					}
				case <-time.After(time.Minute):
					return fmt.Errorf("the event of %s did not come", name)
				}
			}
		}
	}
	return b.percentiles("gateway-event"+suffix, took, floor, nil,
		"from the write's begin to its event; the floor is the center itself, at the same distance")
}

// registerHooks has ConfigMaps of the label hook asked about: by Service at the site, by URL beside
// the center. Those without the label are not.
func (b *bench) registerHooks(ctx context.Context, w *gatewayWays, url string) error {
	authority := w.authority.CertificatePEM()
	hook := func(way string, client object) object {
		client["caBundle"] = authority
		return object{"name": way + ".example.com", "clientConfig": client, "sideEffects": "None",
			"admissionReviewVersions": []string{"v1"}, "failurePolicy": "Fail",
			"objectSelector": object{"matchLabels": object{"hook": way}},
			"rules": []any{object{"apiGroups": []string{""}, "apiVersions": []string{"v1"},
				"operations": []string{"CREATE"}, "resources": []string{"configmaps"}}}}
	}
	err := w.near.Create(ctx, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", object{
		"metadata": object{"name": "bench"}, "webhooks": []any{
			hook("service", object{"service": object{"namespace": gatewayNS, "name": "hook", "path": "/validate"}}),
			hook("url", object{"url": url}),
		}})
	if err != nil {
		return err
	}
	return drive.Until(ctx, time.Minute, "the webhook at the site answers", func(ctx context.Context) error {
		return askedWrite(ctx, w.near, "service")
	})
}

// askedWrite tries a write that the webhook of a way is asked about; nothing is stored.
func askedWrite(ctx context.Context, k *drive.Kube, way string) error {
	o := configMap("asked")
	if way != "" {
		o["metadata"] = object{"name": "asked", "labels": object{"hook": way}}
	}
	return k.Create(ctx, configMaps(gatewayNS)+"?dryRun=All", o)
}

func (b *bench) webhookCalls(
	ctx context.Context, w *gatewayWays, suffix string, rtt time.Duration, rounds int,
) error {
	took := map[string][]time.Duration{}
	for i := range rounds + 3 {
		for _, way := range []string{"", "url", "service"} {
			d, err := timed(func() error { return askedWrite(ctx, w.near, way) })
			if err != nil {
				return fmt.Errorf("a write with a webhook by %q: %w", way, err)
			}
			if i >= 3 {
				took[way] = append(took[way], d)
			}
		}
	}
	more := float64(rtt.Milliseconds()) + 2
	return b.percentiles("webhook-by-service"+suffix, took["service"], took["url"], &more, fmt.Sprintf(
		"a write that is asked about; the floor asks a URL beside the center; not asked: p50 %.1f, p99 %.1f; "+
			"goal: the floor, a round trip and 2 ms", figure.Percentile(took[""], 50), figure.Percentile(took[""], 99)))
}
