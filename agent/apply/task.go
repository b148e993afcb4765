package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// task is one object on its way to the target: what is desired, its policy, its record, and where
// it goes.
type task struct {
	store.Entry
	variant  store.Hash // of Body, where Customizers made it
	head     target.Object
	policy   syncPolicy
	record   inventory.Record // the zero Record when there is none
	client   *target.Client   // reads
	writer   *target.Client   // writes, for the space or for the agent itself
	resource target.Resource
	mapping  target.Mapping  // of the space's namespaces, there
	at       store.Key       // the key in the names of the target
	existed  bool            // a Namespace that was there before its space took it
	stopped  bool            // it must not run, see Lease
	facts    facts           // what its plan was made of
	exposed  *policy.Exposed // what it takes from the network of the site, where it does
	left     []string        // webhooks that the site does not call, and why
	altered  string          // what the target made of the last body that was put, see alteration
}

// atGate is the task as the gate looks at it.
func (t *task) atGate() *site.Object {
	return &site.Object{Entry: t.Entry, Head: &t.head, Record: t.record, Client: t.client, Resource: t.resource,
		Mapping: t.mapping, At: t.at, Existed: t.existed, Exposed: t.exposed}
}

// decode reads what an entry says.
func (t *task) decode() error {
	if err := json.Unmarshal(t.Body, &t.head); err != nil {
		return fmt.Errorf("decode desired object: %w", err)
	}
	t.resource, t.at = target.Of(t.Key, t.head.APIVersion), t.Key
	p, err := syncPolicyOf(&t.head)
	if err != nil {
		return &policyError{err}
	}
	t.policy = p
	return nil
}

// policyError is returned for a policy that cannot be meant so. It stays until the policy is
// mended.
type policyError struct{ error }

func (p *policyError) Unwrap() error { return p.error }

// whole is the desired object in full. It is the caller's.
func (t *task) whole() (map[string]any, error) {
	o := map[string]any{}
	if err := json.Unmarshal(t.Body, &o); err != nil {
		return nil, fmt.Errorf("decode desired object: %w", err)
	}
	return o, nil
}

// find returns the object of a key in the names of the target, nil when there is none.
func (a *Applier) find(
	ctx context.Context,
	c *target.Client,
	r target.Resource,
	at store.Key,
	cached bool,
) (*target.Object, error) {
	return target.Find(ctx, c, r, at, cached)
}

// read returns the object of a task, also in full; nil when there is none.
func (t *task) read(ctx context.Context) (*target.Object, map[string]any, error) {
	live, whole, err := t.client.Read(ctx, t.resource, t.at.Namespace, t.at.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	return live, whole, err
}
