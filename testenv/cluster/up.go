package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/kube"
	"skerry.dev/skerry/testenv/manifest"
	"skerry.dev/skerry/testenv/process"
)

// Options say what Up starts.
type Options struct {
	Kind Kind
	// Place is where it is to be, nil for the machine itself.
	Place *Place
	// Persist keeps the store in a file.
	Persist bool
	// Nodes is how many nodes a simulated cluster has.
	Nodes int
	// Kit is what the cluster runs.
	Kit artifact.Kit
	// Progress gets a line for each step.
	Progress io.Writer
}

// Up starts a cluster and returns when it can run pods. What it started before
// an error or the end of ctx is taken down again.
func (s State) Up(ctx context.Context, name string, o Options) (*Cluster, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := s.check(o.Kind); err != nil {
		return nil, err
	}
	lock, err := s.lock(ctx, "cluster-"+name)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	if _, err := s.load(name); err == nil {
		return nil, fmt.Errorf("cluster %s exists: take it down first with: testenv down %s", name, name)
	}
	u := newUp(s, o)
	defer u.close()
	err = u.run(ctx, name)
	if err == nil {
		return u.cluster, nil
	}
	err = fmt.Errorf("start cluster %s: %w", name, err)
	if u.cluster == nil {
		return nil, err
	}
	if ctx.Err() == nil {
		err = errors.Join(err, u.cluster.logs()) // the user did not just stop it
	}
	return nil, errors.Join(err, u.cluster.remove(context.WithoutCancel(ctx)), lock.Remove())
}

// up is one run of Up.
type up struct {
	state   State
	options Options
	cluster *Cluster
	client  *kube.Client
	began   time.Time
	ended   context.Context // ends when a process of the cluster ends
	onEnd   context.CancelFunc
	claim   io.Closer // of a loopback address, until the cluster listens there; nil when it has none
}

func newUp(s State, o Options) *up {
	u := &up{state: s, options: o, began: time.Now()}
	u.ended, u.onEnd = context.WithCancel(context.Background())
	return u
}

func (u *up) close() {
	u.onEnd()
	if u.claim != nil {
		u.claim.Close()
	}
}

// deadline bounds the waits: a cluster that is not up by then will not be.
func (u *up) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, 3*time.Minute, errors.New("it took more than 3 minutes"))
}

func (u *up) run(ctx context.Context, name string) error {
	if err := u.create(ctx, name); err != nil {
		return err
	}
	c := u.cluster
	access, err := c.writeCredentials()
	if err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	u.client = kube.NewClient(access)
	if err := u.start(ctx); err != nil {
		return err
	}
	ctx, cancel := u.deadline(ctx)
	defer cancel()
	if err := kube.Wait(ctx, u.ended.Done(), u.client.Ready); err != nil {
		return fmt.Errorf("wait for the API server: %w", err)
	}
	u.step("API server ready")
	if err := u.apply(ctx); err != nil {
		return err
	}
	if err := u.waitReady(ctx); err != nil {
		return err
	}
	c.Ready = true
	return c.save()
}

// start starts those of the cluster's processes that do not run.
func (u *up) start(ctx context.Context) error {
	c := u.cluster
	records, err := c.processes().Records()
	if err != nil {
		return err
	}
	if !records[serverRole].Alive() {
		if err := u.startServer(); err != nil {
			return fmt.Errorf("start the control plane: %w", err)
		}
	}
	if c.Kind == Real && !records[nodeRole].Alive() {
		if err := u.startNode(ctx); err != nil {
			return fmt.Errorf("start the node: %w", err)
		}
	}
	return nil
}

func (u *up) startServer() error {
	c := u.cluster
	if err := c.writeServerConfig(); err != nil {
		return err
	}
	return u.spawn(process.Command{
		Role:  serverRole,
		Args:  []string{c.program("wec"), "server", "server.json"},
		NetNS: c.netNSFile(),
	})
}

// spawn starts a process of the cluster and watches it while Up runs.
func (u *up) spawn(command process.Command) error {
	c := u.cluster
	command.Dir = c.dir
	command.Log = c.path("log", command.Role+".log")
	running, err := c.processes().Start(command)
	if err != nil {
		return err
	}
	go func() {
		<-running.Done
		u.onEnd()
	}()
	return nil
}

func (u *up) apply(ctx context.Context) error {
	c := u.cluster
	objects := [][]byte{manifest.Storage(storageProvisioner)}
	switch c.Kind {
	case Real:
		objects = append(objects, manifest.DNS(dnsServiceIP, artifact.CoreDNSImage))
	case Simulated:
		for i := range c.Nodes {
			objects = append(objects, manifest.SimulatedNode(c.NodeName(i+1)))
		}
	}
	for _, o := range objects {
		// Namespaces and priority classes of the system appear a moment after
		// the API server is ready.
		err := kube.Wait(ctx, u.ended.Done(), func(ctx context.Context) error { return u.client.Apply(ctx, o) })
		if err != nil {
			return err
		}
	}
	return nil
}

// waitReady returns when pods can be created and will run.
func (u *up) waitReady(ctx context.Context) error {
	c := u.cluster
	var since time.Time
	if c.Kind == Real {
		since = u.began // simulated nodes have a heartbeat every ten minutes
	}
	for i := range c.Nodes {
		node := c.NodeName(i + 1)
		if err := kube.Wait(ctx, u.ended.Done(), u.client.Has("/api/v1/nodes/"+node, "Ready", since)); err != nil {
			return fmt.Errorf("wait for node %s: %w", node, err)
		}
	}
	u.step("nodes ready")
	// Without it the admission of the first pod fails.
	if err := kube.Wait(ctx, u.ended.Done(),
		u.client.Exists("/api/v1/namespaces/default/serviceaccounts/default")); err != nil {
		return fmt.Errorf("wait for the default service account: %w", err)
	}
	if c.Kind == Real {
		path := "/apis/apps/v1/namespaces/kube-system/deployments/coredns"
		if err := kube.Wait(ctx, u.ended.Done(), u.client.Has(path, "Available", time.Time{})); err != nil {
			return fmt.Errorf("wait for DNS: %w", err)
		}
	}
	u.step("cluster ready")
	return nil
}

func (u *up) step(what string) {
	fmt.Fprintf(u.options.Progress, "%s: [%4.1fs] %s\n", u.cluster.Name, time.Since(u.began).Seconds(), what)
}

// program returns the path of a program of the cluster's kit.
func (c *Cluster) program(name string) string { return artifact.Kit{Bin: c.Bin}.Path(name) }
