package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	admissionapply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/discovery"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/queue"
)

// TypeChecks writes into the status of ValidatingAdmissionPolicies what is wrong with their
// expressions, as a controller does in a cluster: against the kinds that the policy's space has.
type TypeChecks struct {
	loopback func(space string) *rest.Config
	log      *slog.Logger
	reconciler[policyKey]
}

type policyKey struct{ space, name string }

// policyKeys is the prefix of the keys of ValidatingAdmissionPolicies.
const policyKeys = registrykey.Prefix + "/validatingadmissionpolicies/"

// typeChecker is the name under which the status is applied, the same as in a cluster.
const typeChecker = "validatingadmissionpolicy-status"

// NewTypeChecks returns the controller. It reads from client and writes by the loopback of a space.
func NewTypeChecks(client *clientv3.Client, loopback func(string) *rest.Config, log *slog.Logger) *TypeChecks {
	t := &TypeChecks{loopback: loopback, log: log}
	t.reconciler = reconciler[policyKey]{
		client: client,
		prefix: policyKeys,
		queue:  queue.New[policyKey](10*time.Millisecond, 30*time.Second),
		of:     t,
	}
	return t
}

func (t *TypeChecks) failed(k policyKey, err error) {
	t.log.Debug("admission policy not checked yet", "space", k.space, "policy", k.name, "err", err)
}

// deleted does nothing: what is gone has no status.
func (*TypeChecks) deleted(*mvccpb.KeyValue) {}

func (t *TypeChecks) written(kv *mvccpb.KeyValue) {
	if space, name, ok := strings.Cut(strings.TrimPrefix(string(kv.Key), policyKeys), "/"); ok {
		t.queue.Add(policyKey{space, name})
	}
}

// sync checks one policy, if it has changed since it was checked.
func (t *TypeChecks) sync(ctx context.Context, k policyKey) error {
	config := t.loopback(k.space)
	policies, err := admissionclient.NewForConfig(config)
	if err != nil {
		return err
	}
	p, err := policies.ValidatingAdmissionPolicies().Get(ctx, k.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && p.Generation <= p.Status.ObservedGeneration {
		return nil
	}
	if err != nil {
		return err
	}
	warnings, err := checkTypes(config, p)
	if err != nil {
		return err
	}
	found := admissionapply.TypeChecking()
	for _, w := range warnings {
		found.WithExpressionWarnings(admissionapply.ExpressionWarning().WithFieldRef(w.FieldRef).WithWarning(w.Warning))
	}
	status := admissionapply.ValidatingAdmissionPolicyStatus().WithObservedGeneration(
		p.Generation,
	).WithTypeChecking(
		found,
	)
	_, err = policies.ValidatingAdmissionPolicies().ApplyStatus(
		ctx,
		admissionapply.ValidatingAdmissionPolicy(k.name).WithUID(p.UID).WithStatus(status),
		metav1.ApplyOptions{FieldManager: typeChecker, Force: true},
	)
	if err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// checkTypes compiles a policy's expressions for the kinds that it is about, as discovery of the
// space shows them now. Policies change seldom, so nothing of that is kept.
func checkTypes(space *rest.Config, p *admissionv1.ValidatingAdmissionPolicy) ([]admissionv1.ExpressionWarning, error) {
	kinds, err := discovery.NewDiscoveryClientForConfig(space)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(kinds)
	if err != nil {
		return nil, fmt.Errorf("read the kinds: %w", err)
	}
	checker := validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: kinds},
		RestMapper:     restmapper.NewDiscoveryRESTMapper(groups),
	}
	return checker.Check(p), nil
}
