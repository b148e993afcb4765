package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/authz"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/server/queue"
)

// AggregatedRoles keeps ClusterRoles with an aggregationRule up to date in all spaces. A well-known
// one, such as edit, is stored in a space only when the space has added something to it.
type AggregatedRoles struct {
	bootstrap *authz.Bootstrap
	loopback  func(space string) *rest.Config
	log       *slog.Logger
	reconciler[string]
}

// NewAggregatedRoles returns the controller. It reads from client and writes by the loopback of a
// space.
func NewAggregatedRoles(
	client *clientv3.Client,
	b *authz.Bootstrap,
	loopback func(string) *rest.Config,
	log *slog.Logger,
) *AggregatedRoles {
	s := &AggregatedRoles{bootstrap: b, loopback: loopback, log: log}
	s.reconciler = reconciler[string]{
		client: client,
		prefix: roleKeys,
		queue:  queue.New[string](10*time.Millisecond, 30*time.Second),
		of:     s,
	}
	return s
}

func (s *AggregatedRoles) failed(space string, err error) {
	s.log.Debug("ClusterRoles not aggregated yet", "space", space, "err", err)
}

// roleKeys is the prefix of the keys of ClusterRoles.
const roleKeys = registrykey.Prefix + "/clusterroles/"

func (s *AggregatedRoles) written(kv *mvccpb.KeyValue) {
	space, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), roleKeys), "/")
	s.queue.Add(space)
}

// deleted queues the space like written: a role that is gone is no part of a sum any more.
func (s *AggregatedRoles) deleted(kv *mvccpb.KeyValue) { s.written(kv) }

// sync writes the sums of one space that are not what they should be. It reads what is stored,
// never a cache, which could be behind the change that it was called for.
func (s *AggregatedRoles) sync(ctx context.Context, space string) error {
	_, all, err := follow.List(ctx, s.client, roleKeys+space+"/")
	if err != nil || len(all) == 0 {
		return err
	}
	stored, roles := map[string]*rbacv1.ClusterRole{}, maps.Clone(s.bootstrap.Roles)
	for _, kv := range all {
		v, err := storage.Decode(kv.Value)
		role, ok := v.(*rbacv1.ClusterRole)
		if err != nil || !ok {
			return fmt.Errorf("decode %s: %T, %w", kv.Key, v, err)
		}
		if v1alpha1.Inert(role.Labels) {
			continue // it gives nothing here
		}
		role.ResourceVersion = fmt.Sprint(kv.ModRevision)
		stored[role.Name], roles[role.Name] = role, role
	}
	rules, err := authz.Aggregate(roles)
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
		switch {
		case stored[name] == nil:
			role.Rules = sum
			_, err = client.ClusterRoles().Create(ctx, role, metav1.CreateOptions{FieldManager: aggregator})
		case len(sum) == 0: // an apply takes off only what was applied
			role.Rules = sum
			_, err = client.ClusterRoles().Update(ctx, role, metav1.UpdateOptions{FieldManager: aggregator})
		default:
			_, err = client.ClusterRoles().Apply(ctx, summed(role, sum),
				metav1.ApplyOptions{FieldManager: aggregator, Force: true})
		}
		if err != nil {
			return fmt.Errorf("write ClusterRole %s: %w", name, err)
		}
	}
	return nil
}

// aggregator is the field manager of sums, by which clients know them in a cluster, too.
const aggregator = "clusterrole-aggregation-controller"

// summed is a role as it is applied: the rules alone, in the version that they were summed for.
func summed(role *rbacv1.ClusterRole, sum []rbacv1.PolicyRule) *rbacapply.ClusterRoleApplyConfiguration {
	out := rbacapply.ClusterRole(role.Name).WithResourceVersion(role.ResourceVersion)
	for _, r := range sum {
		out.WithRules(rbacapply.PolicyRule().WithVerbs(r.Verbs...).WithAPIGroups(r.APIGroups...).WithResources(
			r.Resources...).WithResourceNames(r.ResourceNames...).WithNonResourceURLs(r.NonResourceURLs...))
	}
	return out
}
