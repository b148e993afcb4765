package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

//go:embed shop.yaml
var shop string

//go:embed coupon.yaml
var coupon string

// Options say how to run the demo.
type Options struct {
	// Skerry, Testenv and Kubectl are the paths of the programs.
	Skerry, Testenv, Kubectl string
	// Image is the reference of the test image that the clusters have.
	Image string
	// Keep leaves everything running, until a signal ends ctx, and prints how to look at it.
	Keep bool
	Out  io.Writer
}

// The clusters of the demo. Their names start alike, so that they do not meet clusters that
// somebody else has up.
const (
	paris, tokyo, oslo = "demo-paris", "demo-tokyo", "demo-oslo"
	space              = "shop"
)

type demo struct {
	image string
	steps
	drive.Site
	kind        string // of the clusters: real or simulated
	kubeconfigs map[string]string
	stop        []func()
	center      *drive.Center
	relay       *drive.Center
	shop        string // kubeconfig of the space
	here, there string // the clusters where the application is at first, and where it moves to
}

// Run runs the demo and returns the first step's error that failed.
func Run(ctx context.Context, o Options) error {
	dir, err := os.MkdirTemp("", "skerry-demo-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	d := &demo{image: o.Image, kind: "real", kubeconfigs: map[string]string{},
		steps: steps{out: o.Out, began: time.Now()},
		Site:  drive.Site{Skerry: o.Skerry, Testenv: o.Testenv, Kubectl: o.Kubectl, Dir: dir}}
	if os.Geteuid() != 0 {
		d.kind = "simulated"
		fmt.Fprintln(o.Out, "Not root: the clusters are simulated. Their pods are shown as running, but nothing "+
			"runs in them.")
	}
	err = d.all(ctx)
	if err != nil && ctx.Err() == nil {
		d.logs()
	}
	if err == nil && o.Keep {
		d.keep(ctx)
	}
	for i := len(d.stop) - 1; i >= 0; i-- {
		d.stop[i]()
	}
	if err == nil {
		d.table()
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func (d *demo) all(ctx context.Context) error {
	for _, s := range []struct {
		what string
		do   func(context.Context) (string, error)
	}{
		{"start two " + d.kind + " clusters and a simulated one", d.clusters},
		{"start a center", d.startCenter},
		{"join the two clusters", d.join},
		{"create the space " + space, d.createSpace},
		{"apply an application of three tiers with plain kubectl", d.apply},
		{"see it run in the space", d.status},
		{"see it run on the cluster", d.onCluster},
		{"ask for a move that would leave a volume behind", d.refusedMove},
		{"pin the database, and everything else moves", d.move},
		{"see what moved and what stayed", d.afterMove},
		{"join a relay with a cluster below it", d.joinRelay},
		{"run the same application below the relay", d.throughRelay},
	} {
		if err := d.run(ctx, s.what, s.do); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) clusters(ctx context.Context) (string, error) {
	type result struct {
		name, kubeconfig string
		err              error
	}
	results := make(chan result)
	for _, c := range [][2]string{{paris, d.kind}, {tokyo, d.kind}, {oslo, "simulated"}} {
		name, kind := c[0], c[1]
		d.stop = append(d.stop, func() {
			if _, err := d.Run(context.Background(), d.Testenv, "down", name); err != nil {
				fmt.Fprintln(d.out, err)
			}
		})
		go func() {
			out, err := d.Run(ctx, d.Testenv, "up", "--kind", kind, name)
			list := lines(out)
			results <- result{name, list[len(list)-1], err}
		}()
	}
	var errs []error
	for range 3 {
		r := <-results
		d.kubeconfigs[r.name] = r.kubeconfig
		errs = append(errs, r.err)
	}
	return "kubelet, containerd, pods with addresses of their own", errors.Join(errs...)
}

func (d *demo) startCenter(ctx context.Context) (string, error) {
	c, err := d.StartCenter(ctx, "center", "")
	if err != nil {
		return "", err
	}
	d.center = c
	d.stop = append(d.stop, c.Stop)
	return fmt.Sprintf("ready in %d ms", c.Ready.Milliseconds()), nil
}

func (d *demo) join(ctx context.Context) (string, error) {
	for name, label := range map[string]string{paris: "region=eu", tokyo: "region=asia"} {
		p, err := d.StartAgent(ctx, d.center, name, d.kubeconfigs[name], "--labels", label)
		if err != nil {
			return "", err
		}
		d.stop = append(d.stop, p.Stop)
	}
	if err := d.connected(ctx, d.center, paris, tokyo); err != nil {
		return "", err
	}
	return "two SyncTargets connected over QUIC", d.print(ctx, d.center.Kubeconfig, "get", "synctargets", "-L", "region")
}

func (d *demo) connected(ctx context.Context, c *drive.Center, names ...string) error {
	for _, name := range names {
		_, err := d.K(ctx, c.Kubeconfig, "wait", "--for=create", "synctarget/"+name, "--timeout=30s")
		if err == nil {
			_, err = d.K(ctx, c.Kubeconfig, "wait", "--for=condition=Connected", "synctarget/"+name, "--timeout=30s")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) createSpace(ctx context.Context) (string, error) {
	if _, err := d.Run(ctx, d.Skerry, "space", "create", space, "--kubeconfig", d.center.Kubeconfig); err != nil {
		return "", err
	}
	var err error
	d.shop, err = d.SpaceKubeconfig(ctx, d.center, space)
	return "a kube API of its own at /clusters/" + space, err
}

// manifests are the application's, for a namespace.
func (d *demo) manifests(namespace string) string {
	return strings.NewReplacer("IMAGE", d.image, "namespace: store", "namespace: "+namespace, "name: store\n",
		"name: "+namespace+"\n").Replace(shop)
}

func (d *demo) apply(ctx context.Context) (string, error) {
	out, err := d.Apply(ctx, d.shop, d.manifests("store"))
	if err != nil {
		return "", err
	}
	if _, err := d.K(ctx, d.shop, "wait", "--for=condition=Established", "crd/coupons.shop.example.com",
		"--timeout=20s"); err != nil {
		return "", err
	}
	more, err := d.Apply(ctx, d.shop, coupon)
	d.show("kubectl apply -f shop.yaml", out+more)
	if err != nil {
		return "", err
	}
	if d.here, err = d.K(ctx, d.shop, "get", "namespace", "store", "-o",
		`jsonpath={.metadata.annotations.skerry\.dev/targets}`); err != nil {
		return "", err
	}
	switch d.here {
	case paris:
		d.there = tokyo
	case tokyo:
		d.there = paris
	default:
		return "", fmt.Errorf("the namespace is on %q, which is neither %s nor %s", d.here, paris, tokyo)
	}
	return fmt.Sprintf("%d objects, unchanged; they went to %s", len(lines(out+more)), d.here), nil
}

func (d *demo) print(ctx context.Context, kubeconfig string, args ...string) error {
	out, err := d.K(ctx, kubeconfig, args...)
	d.show("kubectl "+strings.Join(args, " "), out)
	return err
}

func (d *demo) logs() {
	files, _ := filepath.Glob(filepath.Join(d.Dir, "*.log"))
	for _, f := range files {
		fmt.Fprintf(d.out, "--- the end of %s\n%s\n", filepath.Base(f), drive.Tail(f, 15))
	}
}

func (d *demo) keep(ctx context.Context) {
	fmt.Fprintf(d.out, "\nEverything is left running. Look at it:\n  export KUBECONFIG=%s   # the center's root\n  "+
		"export KUBECONFIG=%s   # the space %s\n", d.center.Kubeconfig, d.shop, space)
	for name, k := range d.kubeconfigs {
		fmt.Fprintf(d.out, "  export KUBECONFIG=%s   # the cluster %s\n", k, name)
	}
	fmt.Fprintf(d.out, "kubectl is %s\nCtrl-C ends it all.\n", d.Kubectl)
	<-ctx.Done()
}

func lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
