package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// unknownAgents prints which agents knock that the center does not know, and what to do.
func unknownAgents(ctx context.Context, o ListOptions) error {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	m, err := c.root.Resource(
		schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
	).Namespace(
		v1alpha1.AuthoritiesNamespace,
	).
		Get(
			ctx,
			v1alpha1.UnknownAgentsName,
			metav1.GetOptions{},
		)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read which agents are not known: %w", err)
	}
	text, _, _ := unstructured.NestedString(m.Object, "data", v1alpha1.UnknownAgentsKey)
	var agents []v1alpha1.UnknownAgent
	if err := json.Unmarshal([]byte(text), &agents); err != nil {
		return fmt.Errorf("read which agents are not known: configmap %s: %w", v1alpha1.UnknownAgentsName, err)
	}
	if len(agents) == 0 {
		return nil
	}
	var names []string
	for _, a := range agents {
		names = append(names, fmt.Sprintf("%s (%s, for %s)", a.Name, a.Why, age(a.Since)))
	}
	_, err = fmt.Fprintf(
		o.Out,
		"%d agents knock that this center does not know: %s. If its data was lost, restore its backup: "+
			"skerry center restore; else let them join again (skerry token create), or stop them.\n",
		len(agents),
		strings.Join(names, ", "),
	)
	return err
}
