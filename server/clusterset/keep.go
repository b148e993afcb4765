package clusterset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// Of what the center makes for a name the label managedBy says so. Whatever else has such a name is its space's own.
const (
	managedBy = "app.kubernetes.io/managed-by"
	center    = "skerry"
)

// servesNothing is the label of the Pods that a Service of an import selects: none.
const servesNothing = "multicluster.kubernetes.io/imported-service"

const apiVersion = v1alpha1.FleetGroup + "/" + v1alpha1.ServicesVersion

func isMade(o map[string]any) bool {
	return fields.String(o, "metadata", "labels", managedBy) == center
}

// keepImport makes the import of a name in a space of a set as it is to be, nil for none, and reports whether the space
// has it. Set is empty for a space that is in none.
func (c *Controller) keepImport(ctx context.Context, space, set string, n name, is *imported) (has bool, err error) {
	k := store.Key{Space: space, Group: v1alpha1.FleetGroup, Resource: v1alpha1.ServiceImports, Namespace: n.namespace,
		Name: n.service}
	namespace, err := c.live(ctx, store.Key{Space: space, Resource: "namespaces", Name: n.namespace}, "v1")
	if err != nil || namespace == nil || fields.String(namespace, "metadata", "deletionTimestamp") != "" {
		return false, err
	}
	have, err := c.live(ctx, k, apiVersion)
	if err != nil {
		return false, err
	}
	if have != nil && !isMade(have) {
		if set == "" {
			return false, nil // sites may serve it
		}
		return false, c.showImport(ctx, k, have, map[string]any{"conditions": conditions(have, foreign(n, is))})
	}
	if is == nil {
		return false, c.drop(ctx, k, have)
	}
	if have == nil {
		have, err = c.cfg.API.Create(ctx, k, apiVersion, is.object(n))
	} else if want := map[string]any{"spec": patchOf(is.spec()), "metadata": is.words.patch(have)}; !sameOf(have, want) {
		have, err = c.patch(ctx, k, apiVersion, "", want)
	}
	if err != nil {
		return false, fmt.Errorf("keep %s: %w", k, err)
	}
	if err := c.keepService(ctx, space, n, is, fields.String(have, "metadata", "uid")); err != nil {
		return false, err
	}
	status := map[string]any{"clusters": is.clusters(), "conditions": conditions(have, condition{
		kind: "Ready", is: true, reason: "Ready",
		message: "it leads to the Services of the spaces that export it, from wherever this space runs Pods; " +
			n.service + "." + n.namespace + ".svc.clusterset.local is its name where the site's DNS serves that zone, " +
			v1alpha1.ServiceOfImport(n.service) + " its Service"})}
	return true, c.showImport(ctx, k, have, status)
}

// foreign is the condition of a ServiceImport that the center has not made.
func foreign(n name, is *imported) condition {
	then := ", and the center makes its own"
	if is == nil {
		then = "; no space of the set exports a Service " + n.service + " of a Namespace " + n.namespace
	}
	return condition{kind: "Ready", reason: reasonNotMade, message: "somebody has written this ServiceImport, so it " +
		"leads nowhere: the center makes those of what the spaces of the set export, and changes no other one; " +
		"delete it" + then}
}

// showImport has an import show a status.
func (c *Controller) showImport(ctx context.Context, k store.Key, have, status map[string]any) error {
	if sameOf(fields.Map(have, "status"), status) {
		return nil
	}
	if _, err := c.patch(ctx, k, apiVersion, "status", map[string]any{"status": status}); err != nil {
		return fmt.Errorf("write status of %s: %w", k, err)
	}
	return nil
}

// drop deletes an import, and with it the Service that it owns.
func (c *Controller) drop(ctx context.Context, k store.Key, have map[string]any) error {
	if have == nil {
		return nil
	}
	err := c.cfg.API.Delete(ctx, k, apiVersion, fields.String(have, "metadata", "uid"))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s: %w", k, err)
	}
	return nil
}

// errTaken says that the Service that is to serve an import cannot be made.
var errTaken = errors.New("a Service of that name is the space's own")

// keepService makes the Service that serves an import, and goes with it, as it is to be.
func (c *Controller) keepService(ctx context.Context, space string, n name, is *imported, owner string) error {
	k := store.Key{Space: space, Resource: "services", Namespace: n.namespace, Name: v1alpha1.ServiceOfImport(n.service)}
	have, err := c.live(ctx, k, "v1")
	if err != nil {
		return err
	}
	want := is.service(n, owner)
	switch {
	case have == nil:
		_, err = c.cfg.API.Create(ctx, k, "v1", want)
	case !isMade(have):
		err = errTaken
	case !sameService(have, want):
		_, err = c.patch(ctx, k, "v1", "", map[string]any{"spec": patchOf(fields.Map(want, "spec")),
			"metadata": want["metadata"]})
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", k, err)
	}
	return nil
}

func (c *Controller) patch(
	ctx context.Context,
	k store.Key,
	apiVersion, subresource string,
	patch map[string]any,
) (map[string]any, error) {
	b, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return c.cfg.API.Patch(ctx, k, apiVersion, subresource, b)
}

// object is a ServiceImport.
func (is *imported) object(n name) map[string]any {
	meta := is.words.patch(nil)
	meta["name"], meta["namespace"] = n.service, n.namespace
	return map[string]any{"apiVersion": apiVersion, "kind": "ServiceImport", "spec": is.spec(), "metadata": meta}
}

func (is *imported) spec() map[string]any {
	ports := []any{}
	for _, p := range is.ports {
		ports = append(ports, p.object())
	}
	return is.keepCallers(map[string]any{"type": "ClusterSetIP", "ports": ports})
}

// keepCallers adds the session affinity to the spec of an import, or of the Service that serves it.
func (is *imported) keepCallers(spec map[string]any) map[string]any {
	if spec["sessionAffinity"] = "None"; is.affinity != 0 {
		spec["sessionAffinity"] = "ClientIP"
		spec["sessionAffinityConfig"] = map[string]any{"clientIP": map[string]any{
			"timeoutSeconds": int64(is.affinity.Seconds())}}
	}
	return spec
}

// patchOf is the patch that makes a spec as it is to be.
func patchOf(spec map[string]any) map[string]any {
	out := maps.Clone(spec)
	if out["sessionAffinityConfig"] == nil {
		out["sessionAffinityConfig"] = nil // which takes it off
	}
	return out
}

func (p port) object() map[string]any {
	o := map[string]any{"port": p.Number, "protocol": "TCP"}
	if p.Name != "" {
		o["name"] = p.Name
	}
	if p.AppProtocol != "" {
		o["appProtocol"] = p.AppProtocol
	}
	return o
}

func (is *imported) clusters() []any {
	all := []any{}
	for _, space := range is.spaces() {
		all = append(all, map[string]any{"cluster": space})
	}
	return all
}

// service is what serves an import: a name that leads to the center wherever the space runs Pods.
func (is *imported) service(n name, owner string) map[string]any {
	ports := []any{}
	for _, p := range is.ports {
		o := p.object()
		o["targetPort"] = p.Number
		ports = append(ports, o)
	}
	return map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": v1alpha1.ServiceOfImport(n.service), "namespace": n.namespace,
			"labels": map[string]any{managedBy: center, v1alpha1.LabelImported: n.service,
				v1alpha1.LabelTarget: v1alpha1.TargetNone},
			"annotations": map[string]any{v1alpha1.AnnotationReach: string(v1alpha1.ReachSpace),
				v1alpha1.AnnotationMembers:   strings.Join(is.members, ","),
				v1alpha1.AnnotationExporters: strings.Join(is.spaces(), ",")},
			"ownerReferences": []any{map[string]any{"apiVersion": apiVersion, "kind": "ServiceImport", "name": n.service,
				"uid": owner}}},
		"spec": is.keepCallers(map[string]any{"type": "ClusterIP", "ports": ports,
			"selector": map[string]any{servesNothing: n.service}})}
}

// sameService reports whether a Service says what one is to say.
func sameService(have, want map[string]any) bool {
	for _, field := range []string{"labels", "annotations"} {
		is := fields.Map(have, "metadata", field)
		for name, value := range fields.Map(want, "metadata", field) {
			if is[name] != value {
				return false
			}
		}
	}
	return sameOf(fields.Map(have, "spec"), patchOf(fields.Map(want, "spec"))) &&
		sameOf(map[string]any{"owners": have["metadata"].(map[string]any)["ownerReferences"]},
			map[string]any{"owners": want["metadata"].(map[string]any)["ownerReferences"]})
}

// sameOf reports whether an object has the fields that it is to have, as JSON. Others may be beside them, but in lists,
// which are as long as they are to be.
func sameOf(have, want any) bool {
	return variant.Covers(asJSON(have), asJSON(want))
}

func asJSON(v any) (out any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return nil
	}
	return out
}

// condition is one that an object is to show.
type condition struct {
	kind            string
	is              bool
	reason, message string
}

// conditions are those of an object with new ones, as it is to show them.
func conditions(have map[string]any, all ...condition) []any {
	out := []any{}
	for _, c := range all {
		status := "False"
		if c.is {
			status = "True"
		}
		out = append(out, map[string]any{"type": c.kind, "status": status, "reason": c.reason, "message": c.message,
			"lastTransitionTime": fields.Since(fields.Map(have, "status"), c.kind, status, time.Now())})
	}
	return out
}
