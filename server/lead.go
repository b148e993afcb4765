package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"skerry.dev/skerry/tunnel/boottime"
)

// ErrDeposed is returned by Run of a replica that led and does not any more: it starts again as one
// that stands by.
var ErrDeposed = errors.New(
	"another replica of the center leads now, or the datastore cannot be reached in time; start this one again and " +
		"it stands by",
)

// The times of an election. A leader that cannot renew stops writing leaseDuration-renewDeadline
// before anybody else may begin. A leader that is killed is followed within takeover: one retry may
// pass before a follower sees the last renewal, and one after the lease has run out.
const (
	leaseDuration = 9 * time.Second
	renewDeadline = 6 * time.Second
	renewTimeout  = renewDeadline / 2 // of one try: what an etcd leader had when it died is not answered
	retryPeriod   = time.Second
	longestRetry  = time.Duration(float64(retryPeriod) * (1 + leaderelection.JitterFactor))
	takeover      = leaseDuration + 2*longestRetry
	leaseName     = "skerry-center"
)

// leadership is the election among the replicas of a center: a Lease in root, namespace
// kube-system, names the one that decides, collects garbage and lets agents in. It is won once in
// the life of a process, and losing it ends the process.
type leadership struct {
	identity string
	loopback func() *rest.Config
	log      *slog.Logger
	won      chan struct{}
	leader   atomic.Pointer[string] // the identity of whoever leads; nil while nobody is known
	now      func() time.Duration   // boottime.Now: a process that was suspended knows that it was
	until    atomic.Int64           // nanoseconds, by now
}

func newLeadership(identity string, loopback func() *rest.Config, log *slog.Logger) *leadership {
	return &leadership{identity: identity, loopback: loopback, log: log, won: make(chan struct{}),
		now: boottime.Now}
}

// Run stands for election until ctx ends, or until what was won is lost.
func (l *leadership) Run(ctx context.Context) error {
	config := l.loopback()
	config.Timeout = renewTimeout
	client, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return err
	}
	lease := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: leaseName},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &fencedLease{
			lease,
			l,
		}, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Name: leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(l.won) },
			OnStoppedLeading: func() { l.until.Store(0) },
			OnNewLeader: func(identity string) {
				l.leader.Store(&identity)
				l.log.Info("the leader of this center is known", "leader", identity, "me", identity == l.identity)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("stand for election: %w", err)
	}
	standing, end := context.WithCancel(ctx)
	defer end()
	go l.endWithTerm(standing, end)
	elector.Run(standing)
	if ctx.Err() != nil {
		return nil
	}
	return ErrDeposed
}

// endWithTerm ends what was won as soon as it is over: the election itself finds out later after
// the process was asleep.
func (l *leadership) endWithTerm(ctx context.Context, end func()) {
	select {
	case <-l.won:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(retryPeriod / 10)
	defer tick.Stop()
	for l.holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	end()
}

// holds reports whether this replica may write as the leader, now.
func (l *leadership) holds() bool { return int64(l.now()) < l.until.Load() }

// fencedLease notes how long each renewal is good for, counted from before it was asked for.
type fencedLease struct {
	resourcelock.Interface
	leader *leadership
}

// Create implements resourcelock.Interface.
func (f *fencedLease) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return f.renewed(r, func() error { return f.Interface.Create(ctx, r) })
}

// Update implements resourcelock.Interface.
func (f *fencedLease) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return f.renewed(r, func() error { return f.Interface.Update(ctx, r) })
}

func (f *fencedLease) renewed(r resourcelock.LeaderElectionRecord, write func() error) error {
	asked := f.leader.now()
	if r.HolderIdentity != f.leader.identity {
		f.leader.until.Store(0) // given back: nothing is written any more when another one can know
	}
	if err := write(); err != nil {
		return err
	}
	if r.HolderIdentity == f.leader.identity {
		f.leader.until.Store(int64(asked + renewDeadline))
	}
	return nil
}

// errNotLeading is returned by writes of a replica that does not lead, or cannot know that it does.
var errNotLeading = errors.New("this replica of the center does not lead; the leader will write it")

// fence lets the leader's parts read at any time, and write while it leads.
func (l *leadership) fence(c *rest.Config) *rest.Config {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fence{next, l} })
	return c
}

type fence struct {
	next   http.RoundTripper
	leader *leadership
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && !f.leader.holds() {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, errNotLeading
	}
	return f.next.RoundTrip(r)
}
