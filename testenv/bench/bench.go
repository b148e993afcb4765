package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/figure"
)

// Options say what to measure.
type Options struct {
	// Skerry, Testenv and Kubectl are the paths of the programs.
	Skerry, Testenv, Kubectl string
	// Etcd is the path of etcd, which the figure api needs.
	Etcd string
	// Figures limits what is measured: apply, status, wire (and reconnect), flash, memory, spaces.
	// Empty means all of these; api, soak, gateway, streams and killed-streams (the
	// end of streams) must be asked for.
	Figures []string
	// Soak is how long the figure soak churns.
	Soak time.Duration
	// Streams is how many streams the figure streams opens and kills.
	Streams int
	// Out gets the JSON lines, Log a line for each step.
	Out, Log io.Writer
}

// report prints figures.
type report struct{ out io.Writer }

func (r report) print(f figure.Line) error { return figure.Print(r.out, f) }

// The two simulated clusters of the benchmark: the floor's own upstream, and the edge that both
// write to.
const (
	upstream, edge = "bench-up", "bench-edge"
	floorNS        = "floor"
	ourNS          = "bench"
	space          = "bench"
)

type bench struct {
	etcd    string
	figures []string
	soakFor time.Duration
	// streamsToKill is Options.Streams.
	streamsToKill int
	log           io.Writer
	report
	drive.Site
	up, edge, ours *drive.Kube
	edgeConfig     string
	spaceConfig    string
	center         *drive.Center
	agent          *drive.Process
	scraped        scraped
	link           *link
	stop           []func()
}

// Run measures and prints. It starts what it needs and stops all of it.
func Run(ctx context.Context, o Options) (err error) {
	dir, err := os.MkdirTemp("", "skerry-bench-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	b := &bench{etcd: o.Etcd, figures: o.Figures, soakFor: o.Soak, streamsToKill: o.Streams, log: o.Log,
		report: report{o.Out}, Site: drive.Site{Skerry: o.Skerry, Testenv: o.Testenv, Kubectl: o.Kubectl, Dir: dir}}
	defer func() {
		for i := len(b.stop) - 1; i >= 0; i-- {
			b.stop[i]()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	alone := []part{{"memory", b.centerMemory}, {"spaces", b.spaces}, {"api", b.api},
		{"streams", b.streams}, {"killed-streams", b.onlyKilled}, {"gateway", b.gateway}}
	between := []part{{"apply", b.apply}, {"status", b.status}, {"wire", b.wire}, {"reconnect", b.bytesPerReconnect},
		{"flash", b.flash}, {"memory", b.agentMemory}, {"soak", b.soak}}
	for _, p := range alone {
		if b.wants(p.name) {
			if err := p.run(ctx); err != nil {
				return fmt.Errorf("measure %s: %w", p.name, err)
			}
		}
	}
	if !slices.ContainsFunc(between, func(p part) bool { return b.wants(p.name) }) {
		return nil
	}
	if err := b.setUp(ctx); err != nil {
		return err
	}
	for _, p := range between {
		if !b.wants(p.name) && !(p.name == "reconnect" && b.wants("wire")) {
			continue
		}
		b.say("measure %s", p.name)
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("measure %s: %w\n--- center\n%s\n--- agent\n%s", p.name, err,
				drive.Tail(b.center.Log, 10), drive.Tail(b.agent.Log, 10))
		}
	}
	return nil
}

// part is what one name of a figure measures.
type part struct {
	name string
	run  func(context.Context) error
}

func (b *bench) wants(name string) bool {
	asked := []string{"soak", "api", "streams", "killed-streams", "gateway"} // only when they are named
	return len(b.figures) == 0 && !slices.Contains(asked, name) || slices.Contains(b.figures, name)
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.log, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

func (b *bench) setUp(ctx context.Context) (err error) {
	var configs [2]string
	for i, name := range []string{upstream, edge} {
		b.say("start the simulated cluster %s", name)
		b.stop = append(b.stop, func() { _, _ = b.Run(context.Background(), b.Testenv, "down", name) })
		out, err := b.Run(ctx, b.Testenv, "up", "--kind", "simulated", "--persist", name)
		if err != nil {
			return err
		}
		configs[i] = drive.LastLine(out)
	}
	b.edgeConfig = configs[1]
	if b.up, err = drive.OpenKube(configs[0]); err != nil {
		return err
	}
	if b.edge, err = drive.OpenKube(configs[1]); err != nil {
		return err
	}
	b.say("start a center, and an agent behind a link that counts")
	if b.wants("soak") || b.wants("flash") {
		if b.scraped, err = freeAddresses(); err != nil {
			return err
		}
	}
	if b.center, err = b.StartCenter(ctx, "center", "", b.scraped.center.args()...); err != nil {
		return err
	}
	b.stop = append(b.stop, b.center.Stop)
	if b.link, err = newLink(b.center.Address); err != nil {
		return err
	}
	b.stop = append(b.stop, b.link.Close)
	token, err := b.Token(ctx, b.center)
	if err != nil {
		return err
	}
	// The cluster has the definition of its own, beside the floor's objects: its admin opens the kind.
	args := append(b.scraped.agent.args(), "--token", token, "--allow-kinds", gaugeKind)
	if b.agent, err = b.ResumeAgent(b.link.Address, edge, b.edgeConfig, args...); err != nil {
		return err
	}
	b.stop = append(b.stop, b.agent.Stop)
	if _, err := b.K(ctx, b.center.Kubeconfig, "wait", "--for=create", "synctarget/"+edge, "--timeout=30s"); err != nil {
		return err
	}
	if _, err := b.K(ctx, b.center.Kubeconfig, "wait", "--for=condition=Connected", "synctarget/"+edge,
		"--timeout=30s"); err != nil {
		return err
	}
	if _, err := b.Run(ctx, b.Skerry, "space", "create", space, "--kubeconfig", b.center.Kubeconfig); err != nil {
		return err
	}
	if b.spaceConfig, err = b.SpaceKubeconfig(ctx, b.center, space); err != nil {
		return err
	}
	if b.ours, err = drive.OpenKube(b.spaceConfig); err != nil {
		return err
	}
	return b.prepare(ctx)
}

// prepare makes the namespaces and the custom resource whose status is measured.
func (b *bench) prepare(ctx context.Context) error {
	for _, n := range []struct {
		k    *drive.Kube
		name string
	}{{b.up, floorNS}, {b.edge, floorNS}, {b.ours, ourNS}} {
		if err := n.k.Create(ctx, "/api/v1/namespaces", object{"metadata": object{"name": n.name}}); err != nil {
			return err
		}
	}
	for _, k := range []*drive.Kube{b.up, b.edge, b.ours} {
		if err := k.Create(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", gaugeCRD()); err != nil {
			return err
		}
	}
	for _, k := range []*drive.Kube{b.up, b.edge, b.ours} {
		err := drive.Until(ctx, 20*time.Second, "the custom resource is served", func(ctx context.Context) error {
			_, err := k.Do(ctx, "GET", gauges(floorNS)+"?limit=1", "", nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
