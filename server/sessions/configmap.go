package sessions

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// writeConfigMap sets one key of a ConfigMap in which the center tells admins how it is, and
// creates the ConfigMap if there is none. Its other keys stay.
func (srv *Server) writeConfigMap(ctx context.Context, name, key, value string) error {
	client, err := srv.client()
	if err != nil {
		return err
	}
	api := client.Resource(configMaps).Namespace(v1alpha1.AuthoritiesNamespace)
	data := map[string]any{key: value}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = api.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "skerry"})
	if apierrors.IsNotFound(err) {
		_, err = api.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data,
		}}, metav1.CreateOptions{FieldManager: "skerry"})
	}
	if err != nil {
		return fmt.Errorf("write configmap %s: %w", name, err)
	}
	return nil
}
