package policy

import (
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// built are the compiled rules of a space. They are made of the objects of.
type built struct {
	space      string
	of         *objects
	validating []validating.PolicyHook
	mutating   []mutating.PolicyHook
	hooks      *webhooks // nil without webhooks
	compiled   map[compiledKey]any

	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	kindsMu   sync.Mutex
	kinds     map[v1.ParamKind]paramKind
}

// compiledKey identifies a generation of a policy. A new policy, or a new generation, is compiled
// again.
type compiledKey struct {
	resource, name string
	uid            types.UID
	generation     int64
}

// build returns the compiled rules of a space. It compiles them if of has changed since the last
// call.
func (p *Plugin) build(space string, of *objects) (*built, error) {
	var before map[compiledKey]any
	if have, ok := p.index.built.Get(space); ok {
		b := have.(*built)
		if b.of == of {
			return b, nil
		}
		before = b.compiled
	}
	config := p.cfg.Loopback(space)
	config.Timeout = 10 * time.Second
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	b := &built{
		space:     space,
		of:        of,
		dynamic:   dyn,
		discovery: disco,
		compiled:  map[compiledKey]any{},
		kinds:     map[v1.ParamKind]paramKind{},
	}
	if err := b.compile(before); err != nil {
		return nil, err
	}
	if len((*of)[ValidatingWebhooks])+len((*of)[MutatingWebhooks]) > 0 {
		if b.hooks, err = p.newWebhooks(space, of); err != nil {
			return nil, fmt.Errorf("webhooks: %w", err)
		}
	}
	p.index.built.Add(space, b)
	return b, nil
}

// compile compiles the policies that have bindings. It reuses what before has of them.
func (b *built) compile(before map[compiledKey]any) error {
	vp, err1 := all[*v1.ValidatingAdmissionPolicy](b.of, ValidatingPolicies)
	vb, err2 := all[*v1.ValidatingAdmissionPolicyBinding](b.of, ValidatingBindings)
	mp, err3 := all[*v1.MutatingAdmissionPolicy](b.of, MutatingPolicies)
	mb, err4 := all[*v1.MutatingAdmissionPolicyBinding](b.of, MutatingBindings)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	for _, policy := range vp {
		bindings := bound(
			vb,
			policy.Name,
			func(x *v1.ValidatingAdmissionPolicyBinding) string { return x.Spec.PolicyName },
		)
		if len(bindings) == 0 {
			continue
		}
		key := compiledKey{ValidatingPolicies, policy.Name, policy.UID, policy.Generation}
		e := compiled(b, before, key, func() validating.Validator { return compileValidating(policy) })
		b.validating = append(b.validating, validating.PolicyHook{Policy: policy, Bindings: bindings, Evaluator: e})
	}
	for _, policy := range mp {
		bindings := bound(
			mb,
			policy.Name,
			func(x *v1.MutatingAdmissionPolicyBinding) string { return x.Spec.PolicyName },
		)
		if len(bindings) == 0 {
			continue
		}
		key := compiledKey{MutatingPolicies, policy.Name, policy.UID, policy.Generation}
		e := compiled(b, before, key, func() mutating.PolicyEvaluator { return compileMutating(policy) })
		b.mutating = append(b.mutating, mutating.PolicyHook{Policy: policy, Bindings: bindings, Evaluator: e})
	}
	return nil
}

func bound[B any](all []B, policy string, of func(B) string) (out []B) {
	for _, b := range all {
		if of(b) == policy {
			out = append(out, b)
		}
	}
	return out
}

func compiled[E any](b *built, before map[compiledKey]any, key compiledKey, compile func() E) E {
	e, ok := before[key].(E)
	if !ok {
		e = compile()
	}
	b.compiled[key] = e
	return e
}
