package walk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// Options say how far to walk.
type Options struct {
	// Skerry, Testenv and Kubectl are the paths of the programs.
	Skerry, Testenv, Kubectl string
	// Seed decides what each cycle does; 0 takes one from the clock.
	Seed uint64
	// Sites, Objects, Partitions and Kills are how many there are of each.
	Sites, Objects, Partitions, Kills int
	// Limit ends the walk before its last cycle; 0 means none.
	Limit time.Duration
	// Keep leaves data and logs of center and agents although nothing was found.
	Keep bool
	// Out gets the figures, Log a line for each cycle.
	Out, Log io.Writer
}

// ErrBroken is returned when the product broke its word: what was found has been printed.
var ErrBroken = errors.New("the walk found what must not happen")

type walk struct {
	Options
	lab     *lab
	model   *model
	judge   *judge
	history *history
	wrote   atomic.Int64

	changing sync.RWMutex // held to change where a namespace's objects are to be
	mu       sync.Mutex
	unmoved  []string // namespaces whose move has no answer
	// converged is how long the sites of a kind of fault took, and for anyKind all sites.
	converged map[kind][]time.Duration
	done      map[kind]int
	cycles    int
}

// The number of namespaces, which move.
const namespaces = 6

// Run walks and prints the figures. The seed is in the first line.
func Run(ctx context.Context, o Options) (err error) {
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano())
	}
	dir, err := os.MkdirTemp("", "skerry-walk-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	var sites []string
	for i := range o.Sites {
		sites = append(sites, fmt.Sprintf("site-%c", 'a'+i))
	}
	w := &walk{Options: o, history: newHistory(), converged: map[kind][]time.Duration{}, done: map[kind]int{},
		model: newModel(sites, namespaces, o.Objects),
		lab: &lab{Site: drive.Site{Skerry: o.Skerry, Testenv: o.Testenv, Kubectl: o.Kubectl, Dir: dir}, network: "walk",
			sites:   sites,
			configs: map[string]string{}, processes: map[string]*drive.Process{}}}
	w.judge = newJudge(sites, w.history.object)
	w.say("seed %d", o.Seed)
	defer func() {
		if err != nil && !errors.Is(err, ErrBroken) {
			fmt.Fprintln(o.Log, w.lab.logs())
		}
		if err = errors.Join(err, w.lab.down()); o.Keep || errors.Is(err, ErrBroken) {
			w.say("the data and the logs of center and agents are left in %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := w.lab.up(ctx, w.say); err != nil {
		return err
	}
	return w.all(ctx)
}

func (w *walk) say(format string, args ...any) {
	fmt.Fprintf(w.Log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// all watches the sites, fills the space and walks until no fault is left, the time is up or
// something is found.
func (w *walk) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	for _, s := range w.model.sites {
		kube, err := drive.OpenKube(w.lab.configs[s])
		if err != nil {
			return err
		}
		kube.Resumed = func(_, version string) { w.say("the watch of %s goes on behind %s", s, version) }
		began := make(chan struct{})
		watching.Go(func() {
			visit := func(typ string, at time.Time, obj json.RawMessage) { w.judge.event(s, typ, at, obj) }
			err := kube.Watch(ctx, "/api/v1/configmaps", began, visit)
			if ctx.Err() == nil {
				cancel(fmt.Errorf("watch the cluster of %s: %w", s, err))
			}
		})
		select {
		case <-began:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := w.fill(ctx); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	p := &planner{random: rand.New(rand.NewPCG(w.Seed, 0)), sites: w.model.sites, spaces: w.model.namespaceNames(),
		from: w.model.anchors(), to: w.Objects,
		partitions: w.Partitions, kills: w.Kills}
	began := time.Now()
	for p.partitions+p.kills > 0 && (w.Limit == 0 || time.Since(began) < w.Limit) {
		if err := w.cycle(ctx, p.next()); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if v := w.judge.verdict(); !v.faultless() {
			break
		}
	}
	if err := w.compare(ctx); err != nil {
		return err
	}
	return w.report(time.Since(began))
}

// fill makes the namespaces, the Placement and every object.
func (w *walk) fill(ctx context.Context) error {
	w.say("make %d namespaces and %d objects", namespaces, w.Objects)
	for name, site := range w.model.namespaces {
		if err := w.lab.space.Create(ctx, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": name,
			"labels": map[string]any{pinLabel: site}}}); err != nil {
			return err
		}
	}
	if err := w.lab.space.Create(ctx, "/apis/skerry.dev/v1alpha1/placements",
		map[string]any{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement",
			"metadata": map[string]any{"name": everywhere}, "spec": map[string]any{
				"objects": []any{map[string]any{"apiGroup": "", "resources": []any{"configmaps"}, "labelSelector": map[string]any{
					"matchLabels": map[string]any{everywhere: "yes"}}}},
				"targets": map[string]any{"selectors": []any{map[string]any{}}}}}); err != nil {
		return err
	}
	all := cycle{}
	for i := range w.model.objects {
		do := change
		if i < w.model.anchors() {
			do = spread
		}
		all.writes = append(all.writes, write{object: i, do: do})
	}
	if err := w.write(ctx, all); err != nil {
		return err
	}
	_, _, err := w.converge(ctx)
	return err
}
