package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// streamWays is a real cluster that one center reaches through no relay, one, and two. Each way has
// an agent and a namespace of its own.
type streamWays struct {
	ours, direct *drive.Kube
	// far is direct, and link the way to the first agent, over links whose round trip can be set.
	far            *drive.Kube
	link, farLink  *link
	watched        []*watched
	kubeconfigFile string
}

// watched is a process whose goroutines, descriptors and memory are counted.
type watched struct {
	name    string
	process *drive.Process
	metrics address
}

const (
	streamsCluster = "bench-real"
	logMiB         = 95 // of 1,048,576 bytes: 100 MB
)

func streamsNS(relays int) string { return fmt.Sprintf("streams-%d", relays) }

// realCluster starts the real cluster of the benchmark, whose Pods run.
func (b *bench) realCluster(ctx context.Context) (kubeconfig string, admin *drive.Kube, err error) {
	b.say("start the real cluster %s", streamsCluster)
	b.stop = append(
		b.stop,
		func() { _, _ = b.Run(context.Background(), b.Testenv, "down", streamsCluster) },
	)
	out, err := b.Run(ctx, b.Testenv, "up", "--kind", "real", streamsCluster)
	if err != nil {
		return "", nil, err
	}
	kubeconfig = drive.LastLine(out)
	admin, err = drive.OpenKube(kubeconfig)
	return kubeconfig, admin, err
}

// startWays starts all of it, and the Pods that are reached into.
func (b *bench) startWays(ctx context.Context) (*streamWays, error) {
	w := &streamWays{}
	var err error
	if w.kubeconfigFile, w.direct, err = b.realCluster(ctx); err != nil {
		return nil, err
	}
	if err := b.openFar(w); err != nil {
		return nil, err
	}
	b.say("start a center, three relays and three agents")
	center, err := b.watchCenter(ctx, w)
	if err != nil {
		return nil, err
	}
	b.center = center
	if w.link, err = newLink(center.Address); err != nil {
		return nil, err
	}
	b.stop = append(b.stop, w.link.Close)
	relay, err := b.watchRelay(ctx, w, "relay", center, "one")
	if err != nil {
		return nil, err
	}
	upper, err := b.watchRelay(ctx, w, "upper-relay", center, "two")
	if err != nil {
		return nil, err
	}
	lower, err := b.watchRelay(ctx, w, "lower-relay", upper, "deep")
	if err != nil {
		return nil, err
	}
	for _, a := range []struct {
		name   string
		parent *drive.Center
		at     string
	}{{"near", center, w.link.Address}, {"below-one", relay, relay.Address}, {"below-two", lower, lower.Address}} {
		if err := b.watchAgent(ctx, w, a.name, a.parent, a.at); err != nil {
			return nil, err
		}
	}
	if _, err := b.Run(ctx, b.Skerry, "space", "create", space, "--kubeconfig", center.Kubeconfig); err != nil {
		return nil, err
	}
	config, err := b.SpaceKubeconfig(ctx, center, space)
	if err != nil {
		return nil, err
	}
	if w.ours, err = drive.OpenKube(config); err != nil {
		return nil, err
	}
	for relays, target := range []string{"near", "one", "two"} {
		if err := b.streamPods(ctx, w, streamsNS(relays), target); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// openFar opens a second way to the cluster, whose round trip can be set.
func (b *bench) openFar(w *streamWays) error {
	text, err := os.ReadFile(w.kubeconfigFile)
	if err != nil {
		return err
	}
	at := strings.TrimPrefix(w.direct.Base(), "https://")
	if w.farLink, err = newLink(at); err != nil {
		return err
	}
	b.stop = append(b.stop, w.farLink.Close)
	path := filepath.Join(b.Dir, "far.kubeconfig")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), at, w.farLink.Address)), 0o600); err != nil {
		return err
	}
	w.far, err = drive.OpenKube(path)
	return err
}

func (b *bench) watchCenter(ctx context.Context, w *streamWays) (*drive.Center, error) {
	free, err := drive.FreeAddress()
	if err != nil {
		return nil, err
	}
	c, err := b.StartCenter(ctx, "center", "", address(free).args()...)
	if err != nil {
		return nil, err
	}
	b.stop = append(b.stop, c.Stop)
	w.watched = append(w.watched, &watched{"center", c.Process, address(free)})
	return c, nil
}

func (b *bench) watchRelay(
	ctx context.Context,
	w *streamWays,
	name string,
	parent *drive.Center,
	as string,
) (*drive.Center, error) {
	free, err := drive.FreeAddress()
	if err != nil {
		return nil, err
	}
	c, err := b.startRelay(ctx, name, parent, parent.Address, as, address(free).args()...)
	if err != nil {
		return nil, err
	}
	w.watched = append(w.watched, &watched{name, c.Process, address(free)})
	return c, nil
}

func (b *bench) watchAgent(
	ctx context.Context,
	w *streamWays,
	name string,
	parent *drive.Center,
	at string,
) error {
	free, err := drive.FreeAddress()
	if err != nil {
		return err
	}
	p, err := b.startBeside(ctx, w, name, parent, at, address(free).args()...)
	if err != nil {
		return err
	}
	w.watched = append(w.watched, &watched{"agent-" + name, p, address(free)})
	return nil
}

// startRelay starts a center that is a child of another one, which it reaches at an address.
func (b *bench) startRelay(
	ctx context.Context,
	name string,
	parent *drive.Center,
	at, as string,
	args ...string,
) (*drive.Center, error) {
	token, err := b.Token(ctx, parent)
	if err != nil {
		return nil, err
	}
	c, err := b.StartCenter(ctx, name, "",
		append(args, "--parent", "https://"+at, "--token", token, "--name", as)...)
	if err != nil {
		return nil, err
	}
	b.stop = append(b.stop, c.Stop)
	return c, b.connected(ctx, parent, as)
}

// startBeside starts an agent beside the cluster. It reaches its parent at an address.
func (b *bench) startBeside(
	ctx context.Context,
	w *streamWays,
	name string,
	parent *drive.Center,
	at string,
	args ...string,
) (*drive.Process, error) {
	token, err := b.Token(ctx, parent)
	if err != nil {
		return nil, err
	}
	p, err := b.ResumeAgent(at, name, w.kubeconfigFile,
		append(args, "--token", token, "--spaces-namespace", "skerry-"+name)...)
	if err != nil {
		return nil, err
	}
	b.stop = append(b.stop, p.Stop)
	return p, b.connected(ctx, parent, name)
}

func (b *bench) connected(ctx context.Context, parent *drive.Center, name string) error {
	for _, condition := range []string{"create", "condition=Connected"} {
		if _, err := b.K(ctx, parent.Kubeconfig, "wait", "--for="+condition, "synctarget/"+name,
			"--timeout=60s"); err != nil {
			return err
		}
	}
	return nil
}

// streamPods makes a namespace for a target, and in it a Pod that serves and one whose log has
// 100 MB.
func (b *bench) streamPods(ctx context.Context, w *streamWays, ns, target string) error {
	b.say("start the pods of %s, and wait for the end of their logs", ns)
	if err := w.ours.Create(ctx, "/api/v1/namespaces", object{"metadata": object{"name": ns,
		"labels": object{"skerry.dev/target": target}}}); err != nil {
		return err
	}
	for _, p := range []struct {
		name, last string // last is what the end of its log has
		args       []string
	}{
		{"web", "listening", []string{"serve"}},
		{"log", fmt.Sprintf("%063d\n", logMiB<<20/64-1), []string{"lines", "-mib", fmt.Sprint(logMiB)}},
	} {
		err := w.ours.Create(ctx, pods(ns), object{"apiVersion": "v1", "kind": "Pod",
			"metadata": object{"name": p.name},
			"spec": object{"terminationGracePeriodSeconds": 1, "containers": []any{object{
				"name": p.name, "image": "localhost/skerry-testenv/app:1", "args": p.args}}}})
		if err != nil {
			return err
		}
		err = drive.Until(ctx, 2*time.Minute, "the log of "+ns+"/"+p.name, func(ctx context.Context) error {
			text, err := w.ours.Do(ctx, "GET", pods(ns)+"/"+p.name+"/log?tailLines=1", "", nil)
			if err == nil && !strings.Contains(string(text), p.last) {
				err = fmt.Errorf("its last line is %.80q", text)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
