package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// The target is asked which cluster it is, and how far its history has got, every identifyEvery,
// and has identifyTime to answer. Watches do not tell it where nothing is placed; and one that is
// open says nothing of an API server that is frozen.
const (
	identifyEvery = 5 * time.Second
	identifyTime  = 3 * time.Second
)

// clusterIdentity is what the target last answered about itself.
type clusterIdentity struct {
	mu   sync.Mutex
	at   target.Identity
	told *string // the cluster that the parent was told; nil before the first session
}

// recordTold records which cluster was reported to the parent.
func (k *clusterIdentity) recordTold(cluster string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = &cluster
}

// untold reports whether another cluster than this was reported to the parent.
func (k *clusterIdentity) untold(cluster string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.told != nil && *k.told != cluster
}

func (k *clusterIdentity) get() target.Identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.at
}

// update records what the target answers about itself. It reports whether its history went back: it
// was restored from a backup.
func (k *clusterIdentity) update(now target.Identity) (back bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	back = now.Cluster == k.at.Cluster && now.Revision > 0 && now.Revision < k.at.Revision
	k.at = now
	return back
}

// identify asks the target about itself until ctx ends.
func (a *agent) identify(ctx context.Context) error {
	for {
		if err := a.identifyOnce(ctx); err != nil {
			return err
		}
		if !ondemand.Pause(ctx, identifyEvery) {
			return nil
		}
	}
}

// identifyOnce asks once. It returns errReplaced when the cluster was replaced, and ErrRefused when it
// is a center.
func (a *agent) identifyOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, identifyTime)
	defer cancel()
	client, err := a.clients.For(target.RootSpace)
	var now target.Identity
	if err == nil {
		now, err = client.Identify(ctx)
	}
	if err != nil {
		a.Log.Debug("the target does not say which cluster it is", "err", err)
		return nil
	}
	was := a.known.get()
	if was.Cluster != now.Cluster {
		if err := workloadCluster(ctx, client); err != nil {
			return err
		}
	}
	if was.Cluster != "" && was.Cluster != now.Cluster {
		a.identity.replace(now)
		return fmt.Errorf(
			"%w: the UID of its Namespace kube-system was %s and is %s",
			errReplaced,
			was.Cluster,
			now.Cluster,
		)
	}
	if a.known.update(now) {
		a.Log.Warn("the target's history went back; it is searched for what was deleted since",
			"now", now.Revision, "was", was.Revision)
		a.cache.sweepAgain()
	}
	if was.Cluster != now.Cluster {
		a.identity.writesTo(now)
	}
	if a.known.untold(now.Cluster) {
		a.cache.compare() // the next session tells
	}
	return nil
}

// errCenter is returned when the kubeconfig leads to a Skerry center: what is placed on such a site
// would be placed again.
var errCenter = errors.New("the kubeconfig leads to a Skerry center, or to a space of one, and an agent stands " +
	"beside a workload cluster: give --kubeconfig the file of that cluster; " +
	"a center joins another one by skerry center --parent")

// workloadCluster refuses a target that is a center. A target that does not say its version passes.
func workloadCluster(ctx context.Context, client *target.Client) error {
	version, err := client.Version(ctx)
	if err == nil && IsCenter(version) {
		return fmt.Errorf("%w: %w", ErrRefused, errCenter)
	}
	return nil
}

// IsCenter reports whether a version of Kubernetes, as a target's client has it, is that of a center or of a space.
func IsCenter(version string) bool { return strings.HasSuffix(version, target.OfCenter) }

// errReplaced ends the agent when its cluster was replaced: everything that it knew of the target
// was of the former cluster.
var errReplaced = errors.New("the cluster was replaced")

// begin forgets what was known of a cluster that was replaced: the present one is a new, empty
// target.
func (a *agent) begin() error {
	was := a.identity.replaced()
	if was == "" {
		return nil
	}
	var keys []store.Key
	a.inventory.Each(func(k store.Key, _ inventory.Record) { keys = append(keys, k) })
	for _, k := range keys {
		a.inventory.Delete(k)
	}
	a.conditions.Set(
		tunnel.Condition{
			Type:   tunnel.ClusterUnchanged,
			Status: tunnel.False,
			Reason: "ClusterReplaced",
			Message: fmt.Sprintf(
				"this site's cluster is another one since the agent started: the UID of its "+
					"Namespace kube-system was %s and is %s; all that is placed here is made there anew, "+
					"but for Jobs that have ended",
				was,
				a.identity.target().Cluster,
			),
		},
	)
	return a.inventory.Flush()
}
