package bench

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// spaces measures a space's life: from its creation to its readiness, what five definitions in it
// cost, and how a center starts with much in it.
func (b *bench) spaces(ctx context.Context) error {
	b.say("measure spaces with definitions, and a start with 20,000 objects")
	c, err := b.StartCenter(ctx, "spaces", "")
	if err != nil {
		return err
	}
	defer func() { c.Stop() }()
	k, err := drive.OpenKube(c.Kubeconfig)
	if err != nil {
		return err
	}
	if err := b.spaceReady(ctx, k); err != nil {
		return err
	}
	if err := b.spaceDefinitions(ctx, k, c); err != nil {
		return err
	}
	return b.fullStart(ctx, k, &c)
}

// spaceReady measures from the request for a space to the first answer of its API.
func (b *bench) spaceReady(ctx context.Context, k *drive.Kube) error {
	var took []time.Duration
	for i := range 50 {
		name := fmt.Sprintf("ready-%d", i)
		began := time.Now()
		if err := makeSpace(ctx, k, name); err != nil {
			return err
		}
		for {
			_, err := k.Do(ctx, "GET", "/clusters/"+name+"/api/v1/namespaces/default", "", nil)
			if err == nil {
				break
			}
			if time.Since(began) > 30*time.Second {
				return fmt.Errorf("space %s is not ready: %w", name, err)
			}
		}
		took = append(took, time.Since(began))
	}
	return b.print(figure.Line{Figure: "space-ready-p50", Value: figure.Percentile(took, 50), Unit: "ms",
		Goal: figure.Of(50), N: len(took),
		Note: fmt.Sprintf("p99 %.1f ms; from the request for it to the namespace default", figure.Percentile(took, 99))})
}

func makeSpace(ctx context.Context, k *drive.Kube, name string) error {
	return k.Create(ctx, "/apis/skerry.dev/v1alpha1/spaces", object{"apiVersion": "skerry.dev/v1alpha1", "kind": "Space",
		"metadata": object{"name": name}, "spec": object{}})
}

// spaceDefinitions measures what a space costs whose five definitions are in use: each has an
// object.
func (b *bench) spaceDefinitions(ctx context.Context, k *drive.Kube, c *drive.Center) error {
	const n, definitions = 20, 5
	before, err := settled(ctx, c.PID())
	if err != nil {
		return err
	}
	if before.live, err = liveHeap(ctx, k); err != nil {
		return err
	}
	for i := range n {
		prefix := fmt.Sprintf("/clusters/ready-%d", i)
		for j := range definitions {
			group := fmt.Sprintf("g%d.example.com", j)
			if err := k.Create(ctx, prefix+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
				definition(group)); err != nil {
				return err
			}
			err := drive.Until(ctx, 30*time.Second, "a custom resource is served", func(ctx context.Context) error {
				return k.Create(ctx, prefix+"/apis/"+group+"/v1/namespaces/default/gauges",
					object{"apiVersion": group + "/v1", "kind": "Gauge",
						"metadata": object{"name": "one"}, "spec": object{"of": "it"}})
			})
			if err != nil {
				return err
			}
		}
	}
	after, err := settled(ctx, c.PID())
	if err != nil {
		return err
	}
	if after.live, err = liveHeap(ctx, k); err != nil {
		return err
	}
	if err := b.print(figure.Line{Figure: "center-heap-per-space-5-definitions", Value: (after.live - before.live) / n,
		Unit: "KiB", Goal: figure.Of(1024), N: n,
		Note: fmt.Sprintf("each definition has an object and was just used; the heap holds %.1f MiB",
			after.live/1024)}); err != nil {
		return err
	}
	return b.print(figure.Line{Figure: "center-rss-per-space-5-definitions", Value: (after.anon - before.anon) / n,
		Unit: "KiB", N: n,
		Note: fmt.Sprintf("with stacks and with garbage that is not collected yet; RSS %.0f MiB", after.rss/1024)})
}

// definition is that of gauges in another group.
func definition(group string) object {
	crd := gaugeCRD()
	crd["metadata"] = object{"name": "gauges." + group}
	crd["spec"].(object)["group"] = group
	return crd
}

// fullStart measures the start of a center that holds 20,000 objects.
func (b *bench) fullStart(ctx context.Context, k *drive.Kube, c **drive.Center) error {
	const objects, in = 20000, 20
	if err := sideBySide(in, objects, func(i int) error {
		return k.Create(ctx, fmt.Sprintf("/clusters/ready-%d", i%in)+configMaps("default"),
			configMap(fmt.Sprintf("object-%d", i/in)))
	}); err != nil {
		return err
	}
	var starts []float64
	for range 3 {
		(*c).Stop()
		again, err := b.StartCenter(ctx, "spaces", "")
		if err != nil {
			return err
		}
		*c = again
		starts = append(starts, float64(again.Ready.Milliseconds()))
	}
	m, err := settled(ctx, (*c).PID())
	if err != nil {
		return err
	}
	return b.print(figure.Line{Figure: "center-start-20000-objects", Value: figure.Median(starts), Unit: "ms",
		N:    len(starts),
		Note: fmt.Sprintf("RSS %.0f MiB once idle", m.rss/1024)})
}
