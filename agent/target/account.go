package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What of RBAC an agent keeps at its target. Every space has the ServiceAccount of its name in one
// namespace, and what is written for a space in a namespace is written as that account: its rights
// are the cluster's to give and to take.
const (
	// DefaultSpaces is the namespace that holds the ServiceAccounts of spaces where the site names
	// no other one. It is a namespace of its own because the right to impersonate can be bounded to
	// the ServiceAccounts of one.
	DefaultSpaces = "skerry-spaces"
	// SpaceRole is the ClusterRole that a space has in each of its namespaces, and the name of the
	// RoleBinding there. The site's admin may change it; it is made when it is missing.
	SpaceRole = "skerry-space"
	// DefinitionsRole is the ClusterRole for custom resources of definitions that came from spaces.
	// The agent keeps its rules.
	DefinitionsRole = "skerry-space-definitions"
)

// rbac are the resources of Kubernetes' RBAC.
func rbac(plural string) Resource {
	return Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: plural}
}

var (
	namespaces      = Resource{Version: "v1", Plural: "namespaces"}
	serviceAccounts = Resource{Version: "v1", Plural: "serviceaccounts"}
)

// Rule gives all rights to some resources of an API group.
type Rule struct {
	APIGroups []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Verbs     []string `json:"verbs"`
}

// verbs are what an agent does for a space: apply, and delete.
var verbs = []string{"get", "create", "patch", "update", "delete"}

// intoPods are the rights to reach into Pods. WebSockets are opened by GET, and need create as SPDY
// does.
var intoPods = []Rule{
	{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
	{
		APIGroups: []string{""}, Resources: []string{"pods/attach", "pods/exec", "pods/portforward"},
		Verbs: []string{"get", "create"},
	},
	{APIGroups: []string{""}, Resources: []string{"pods/ephemeralcontainers", "pods/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}},
}

// SpaceRules returns the rules of SpaceRole: all rights to workloads, and those to reach into Pods.
func SpaceRules(workloads []Rule) []Rule { return append(withVerbs(workloads), intoPods...) }

// As returns a client that writes as the account of a space. It still reads and watches as the
// agent.
func (c *Client) As(space string) *Client {
	as := *c
	as.user = c.AccountName(space)
	return &as
}

// EnsureRoles makes the roles of spaces, and the namespace of their accounts with the annotations
// of an owner. It returns ErrNotServed where the target has no RBAC.
func (c *Client) EnsureRoles(ctx context.Context, workloads []Rule, o SpacesOwner) error {
	_, err := c.Get(ctx, rbac("clusterroles"), "", SpaceRole, true)
	if apierrors.IsNotFound(err) {
		err = c.make(
			ctx,
			rbac("clusterroles"),
			"",
			map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
				"metadata": map[string]any{"name": SpaceRole}, "rules": SpaceRules(workloads)},
		)
	}
	if err != nil {
		return fmt.Errorf("make the ClusterRole of spaces: %w", err)
	}
	if err := c.make(ctx, namespaces, "", o.namespace(c.spaces)); err != nil {
		return fmt.Errorf("make the namespace of the spaces' accounts: %w", err)
	}
	return c.make(
		ctx,
		rbac("clusterroles"),
		"",
		map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
			"metadata": map[string]any{"name": DefinitionsRole}, "rules": withVerbs(nil)},
	)
}

// EnsureAccount makes the account of a space.
func (c *Client) EnsureAccount(ctx context.Context, space string) error {
	off := false
	return c.make(ctx, serviceAccounts, c.spaces, map[string]any{"apiVersion": "v1", "kind": "ServiceAccount",
		"metadata": map[string]any{"name": space, "namespace": c.spaces}, "automountServiceAccountToken": off})
}

// Bind gives the account of a space its roles in a namespace.
func (c *Client) Bind(ctx context.Context, space, namespace string) error {
	for _, role := range []string{SpaceRole, DefinitionsRole} {
		if err := c.make(ctx, rbac("rolebindings"), namespace, c.roleBinding(role, space, namespace)); err != nil {
			return fmt.Errorf("bind %s in namespace %s to space %s: %w", role, namespace, space, err)
		}
	}
	return nil
}

func (c *Client) roleBinding(role, space, namespace string) map[string]any {
	return map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
		"metadata": map[string]any{"name": role, "namespace": namespace},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": c.spaces, "name": space}},
	}
}

// Unbind takes the roles of spaces away in a namespace.
func (c *Client) Unbind(ctx context.Context, namespace string) error {
	for _, role := range []string{SpaceRole, DefinitionsRole, ControllersRole} {
		live, err := c.Get(ctx, rbac("rolebindings"), namespace, role, false)
		if err == nil {
			_, err = c.Delete(ctx, rbac("rolebindings"), namespace, role, Deletion{UID: live.Metadata.UID})
		}
		if err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, ErrNotServed) {
			return fmt.Errorf("take %s away in namespace %s: %w", role, namespace, err)
		}
	}
	return nil
}

// AddDefinitions adds to DefinitionsRole those of these rules that it lacks, each of one group.
// Rules of definitions that are gone stay: they give rights to nothing, and another agent at the
// same cluster may need them.
func (c *Client) AddDefinitions(ctx context.Context, rules []Rule) error {
	var role struct {
		Metadata Metadata
		Rules    []Rule
	}
	if _, err := c.call(ctx, http.MethodGet, rbac("clusterroles").Path("", DefinitionsRole), nil, "", nil,
		&role); err != nil {
		return err
	}
	all, changed := role.Rules, false
	for _, rule := range definitionRules(rules) {
		i := slices.IndexFunc(all, func(have Rule) bool { return slices.Equal(have.APIGroups, rule.APIGroups) })
		if i < 0 {
			all, changed = append(all, rule), true
			continue
		}
		for _, resource := range rule.Resources {
			if !slices.Contains(all[i].Resources, resource) {
				all[i].Resources, changed = append(all[i].Resources, resource), true
			}
		}
	}
	if !changed {
		return nil
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": DefinitionsRole}, "rules": all})
	if err != nil {
		return fmt.Errorf("encode the role of definitions: %w", err)
	}
	_, _, err = c.Apply(ctx, rbac("clusterroles"), "", DefinitionsRole, body,
		Applying{UID: role.Metadata.UID, ResourceVersion: role.Metadata.ResourceVersion, Unmarked: true})
	return err
}

// definitionRules are what the account of a space may do with custom resources: what the agent does,
// and what a controller does that the site lets use the API (Roles give away what the account has).
func definitionRules(rules []Rule) []Rule {
	out := slices.Clone(rules)
	for i := range out {
		out[i].Verbs = controllerVerbs
		for _, plural := range rules[i].Resources {
			out[i].Resources = append(slices.Clip(out[i].Resources), plural+"/finalizers", plural+"/scale", plural+"/status")
		}
	}
	return out
}

// withVerbs fills in what an agent does. An empty list is [], which takes all rules away.
func withVerbs(rules []Rule) []Rule {
	out := slices.Clone(rules)
	for i := range out {
		out[i].Verbs = verbs
	}
	if out == nil {
		out = []Rule{}
	}
	return out
}

// make creates an object; one that exists stays as it is.
func (c *Client) make(ctx context.Context, r Resource, namespace string, o map[string]any) error {
	body, err := encode(o)
	if err != nil {
		return err
	}
	name, _ := o["metadata"].(map[string]any)["name"].(string)
	if _, _, err = c.Apply(ctx, r, namespace, name, body, Applying{Unmarked: true}); apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func encode(o map[string]any) ([]byte, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode %v: %w", o["kind"], err)
	}
	return body, nil
}

// IsSpaceAccess reports whether an object is one that EnsureRoles, EnsureAccount or Bind makes in
// the namespaces of spaces.
func IsSpaceAccess(r Resource, o *Object) bool {
	return r.Group == "rbac.authorization.k8s.io" && r.Plural == "rolebindings" &&
		(o.Metadata.Name == SpaceRole || o.Metadata.Name == DefinitionsRole || o.Metadata.Name == ControllersRole)
}
