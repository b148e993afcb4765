package apiserver

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
)

// sums keeps the ClusterRoles that are sums of others (aggregationRule) up to date in all spaces, as a controller does in a cluster. A
// well-known sum, such as edit, is stored in a space only when the space has added something to it.
type sums struct {
	client    *clientv3.Client
	bootstrap *bootstrap
	loopback  func(space string) *rest.Config
	log       *slog.Logger
	queue     workqueue.TypedRateLimitingInterface[string]
}

func newSums(client *clientv3.Client, b *bootstrap, loopback func(string) *rest.Config, log *slog.Logger) *sums {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](10*time.Millisecond, 30*time.Second)
	return &sums{client: client, bootstrap: b, loopback: loopback, log: log, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

// roleKeys is the prefix of the keys of ClusterRoles.
const roleKeys = registryPrefix + "/clusterroles/"

// run follows the ClusterRoles of all spaces until ctx ends.
func (s *sums) run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	defer s.queue.ShutDown()
	all.Go(func() { s.work(ctx) })
	return follow(ctx, s.client, roleKeys, s)
}

func (s *sums) reset(_ int64, all []*mvccpb.KeyValue) error {
	for _, kv := range all {
		s.note(kv)
	}
	return nil
}

func (s *sums) change(e *clientv3.Event) error {
	s.note(e.Kv)
	return nil
}

func (*sums) progress(int64) {}

func (s *sums) note(kv *mvccpb.KeyValue) {
	space, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), roleKeys), "/")
	s.queue.Add(space)
}

func (s *sums) work(ctx context.Context) {
	for {
		space, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		if err := s.sync(ctx, space); err == nil {
			s.queue.Forget(space)
		} else if ctx.Err() == nil {
			s.log.Debug("ClusterRoles not aggregated yet", "space", space, "err", err)
			s.queue.AddRateLimited(space)
		}
		s.queue.Done(space)
	}
}

// sync writes the sums of one space that are not what they should be. It reads what is stored, never a cache, which could be behind the
// change that it was called for.
func (s *sums) sync(ctx context.Context, space string) error {
	_, all, err := listAll(ctx, s.client, roleKeys+space+"/")
	if err != nil || len(all) == 0 {
		return err
	}
	stored, roles := map[string]*rbacv1.ClusterRole{}, maps.Clone(s.bootstrap.roles)
	for _, kv := range all {
		v, err := decodeStored(kv.Value)
		role, ok := v.(*rbacv1.ClusterRole)
		if err != nil || !ok {
			return fmt.Errorf("decode %s: %T, %w", kv.Key, v, err)
		}
		role.ResourceVersion = fmt.Sprint(kv.ModRevision)
		stored[role.Name], roles[role.Name] = role, role
	}
	rules, err := aggregate(roles)
	if err != nil {
		return err
	}
	client, err := rbacclient.NewForConfig(s.loopback(space))
	if err != nil {
		return err
	}
	for name, sum := range rules {
		if equality.Semantic.DeepEqual(roles[name].Rules, sum) {
			continue
		}
		role := roles[name].DeepCopy()
		role.Rules = sum
		if stored[name] != nil {
			_, err = client.ClusterRoles().Update(ctx, role, metav1.UpdateOptions{FieldManager: "clusterrole-aggregation-controller"})
		} else {
			_, err = client.ClusterRoles().Create(ctx, role, metav1.CreateOptions{FieldManager: "clusterrole-aggregation-controller"})
		}
		if err != nil {
			return fmt.Errorf("write ClusterRole %s: %w", name, err)
		}
	}
	return nil
}
