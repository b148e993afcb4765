package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// nothingLeft looks at the rows of the store themselves, whatever their keys mean.
func nothingLeft(t *testing.T, c *center, space string) {
	t.Helper()
	all, err := c.store.Client().Client.Get(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	must(t, err)
	for _, kv := range all.Kvs {
		if strings.Contains(string(kv.Key), "/"+space+"/") || strings.HasSuffix(string(kv.Key), "/"+space) {
			t.Errorf("left in the store: %s", kv.Key)
		}
	}
	if len(all.Kvs) == 0 {
		t.Error("the store is empty: this sees nothing")
	}
	core := clients(t, c.api.Loopback(space)).CoreV1()
	_, err = core.ConfigMaps(
		"default",
	).Create(
		t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}},
		metav1.CreateOptions{},
	)
	if err == nil {
		t.Error("the center itself can write to a space that is gone")
	}
	_, err = core.Namespaces().Create(
		t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}},
		metav1.CreateOptions{},
	)
	if !apierrors.IsNotFound(err) {
		t.Errorf("a namespace in a space that is gone: %v", err)
	}
}

// creator checks that who makes a Space is its admin, that nobody can say it was somebody else, and
// that the right can be taken away.
func creator(t *testing.T, c *center) {
	ctx := t.Context()
	root := clients(t, c.admin("root"))
	role := object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "space-makers")
	role.Object["rules"] = []any{
		map[string]any{
			"apiGroups": []any{"skerry.dev"},
			"resources": []any{"spaces"},
			"verbs":     []any{"create", "get", "update"},
		},
	}
	binding := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "space-makers")
	binding.Object["roleRef"] = map[string]any{
		"apiGroup": "rbac.authorization.k8s.io",
		"kind":     "ClusterRole",
		"name":     "space-makers",
	}
	binding.Object["subjects"] = []any{
		map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "carol"},
	}
	d := dyn(t, c.admin("root"))
	_, err := d.Resource(rbacGVR("clusterroles")).Create(ctx, role, metav1.CreateOptions{})
	must(t, err)
	_, err = d.Resource(rbacGVR("clusterrolebindings")).Create(ctx, binding, metav1.CreateOptions{})
	must(t, err)
	carol := dyn(t, c.as("root", "carol")).Resource(spacesGVR)
	mine := object("skerry.dev/v1alpha1", "Space", "", "carols")
	mine.SetAnnotations(map[string]string{v1alpha1.AnnotationCreator: "dave"})
	within(t, time.Minute, "carol may make spaces", func() bool {
		_, err = carol.Create(ctx, mine, metav1.CreateOptions{})
		return !apierrors.IsForbidden(err)
	})
	must(t, err)
	within(t, time.Minute, "carol is admin of her space", func() bool {
		_, err = clients(t, c.as("carols", "carol")).CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	for who, space := range map[string]string{"dave": "carols", "carol": "team"} {
		if _, err := clients(t, c.as(space, who)).CoreV1().Secrets("default").List(
			ctx,
			metav1.ListOptions{},
		); !apierrors.IsForbidden(
			err,
		) {
			t.Errorf("%s in %s: %v", who, space, err)
		}
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"dave"}}}`, v1alpha1.AnnotationCreator)
	if _, err := d.Resource(spacesGVR).Patch(
		ctx,
		"carols",
		types.MergePatchType,
		[]byte(patch),
		metav1.PatchOptions{},
	); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("another creator: %v", err)
	}
	if _, err := d.Resource(spacesGVR).Patch(
		ctx,
		"team",
		types.MergePatchType,
		[]byte(patch),
		metav1.PatchOptions{},
	); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("a creator of a space that an admin made: %v", err)
	}
	// Taken away for good, also when the Space changes later.
	must(
		t,
		clients(
			t,
			c.admin("carols"),
		).RbacV1().ClusterRoleBindings().Delete(
			ctx,
			"skerry:creator",
			metav1.DeleteOptions{},
		),
	)
	_, err = d.Resource(
		spacesGVR,
	).Patch(
		ctx,
		"carols",
		types.MergePatchType,
		[]byte(`{"spec":{"deletionPolicy":"Delete"}}`),
		metav1.PatchOptions{},
	)
	must(t, err)
	within(t, time.Minute, "the change is settled", func() bool {
		s, err := d.Resource(spacesGVR).Get(ctx, "carols", metav1.GetOptions{})
		return err == nil &&
			strings.Contains(fmt.Sprint(s.Object["status"]), fmt.Sprintf("observedGeneration:%d", s.GetGeneration()))
	})
	if _, err := clients(t, c.admin("carols")).RbacV1().ClusterRoleBindings().Get(
		ctx,
		"skerry:creator",
		metav1.GetOptions{},
	); !apierrors.IsNotFound(
		err,
	) {
		t.Errorf("the binding that was taken away: %v", err)
	}
	must(t, root.RbacV1().ClusterRoleBindings().Delete(ctx, "space-makers", metav1.DeleteOptions{}))
	must(t, d.Resource(spacesGVR).Delete(ctx, "carols", metav1.DeleteOptions{}))
	within(t, time.Minute, "deletion of carol's space", func() bool {
		_, err := d.Resource(spacesGVR).Get(ctx, "carols", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	nothingLeft(t, c, "carols")
}

// importedObjects checks who may say who an object was, for built-in kinds and custom resources
// alike.
func importedObjects(t *testing.T, c *center) {
	ctx := t.Context()
	note := func(uid string) map[string]string {
		return map[string]string{
			"keep":                    "me",
			v1alpha1.AnnotationImport: `{"uid":"` + uid + `","creationTimestamp":"2020-01-02T03:04:05Z","generation":7}`,
		}
	}
	w := object(widgets("team").GroupVersion().String(), "Widget", "default", "imported")
	w.Object["spec"] = map[string]any{"v1": "yes"}
	d := deployment("image")
	d.Name = "imported"
	create := func(user string, notes map[string]string, groups ...string) (meta []metav1.Object, errs []error) {
		conf := c.as("team", user, groups...)
		w.SetAnnotations(notes)
		d.Annotations = notes
		made, err := clients(t, conf).AppsV1().Deployments("default").Create(ctx, d, metav1.CreateOptions{})
		custom, err2 := dyn(
			t,
			conf,
		).Resource(
			widgets("team"),
		).Namespace(
			"default",
		).Create(
			ctx,
			w.DeepCopy(),
			metav1.CreateOptions{},
		)
		return []metav1.Object{made, custom}, []error{err, err2}
	}
	admin := clients(t, c.admin("team"))
	editor := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "erin")
	editor.Object["roleRef"] = map[string]any{
		"apiGroup": "rbac.authorization.k8s.io",
		"kind":     "ClusterRole",
		"name":     "cluster-admin",
	}
	editor.Object["subjects"] = []any{
		map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "erin"},
	}
	_, err := dyn(
		t,
		c.admin("team"),
	).Resource(
		rbacGVR("clusterrolebindings"),
	).Create(
		ctx,
		editor,
		metav1.CreateOptions{},
	)
	must(t, err)
	within(t, time.Minute, "erin is admin of team", func() bool {
		_, err := clients(t, c.as("team", "erin")).CoreV1().Secrets("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if _, errs := create("erin", note("11111111-2222-3333-4444-555555555555")); !apierrors.IsForbidden(errs[0]) ||
		!apierrors.IsForbidden(errs[1]) {
		t.Errorf("a space's admin imports an identity: %v", errs)
	}
	if _, errs := create("admin", note("../x"), "system:masters"); !apierrors.IsForbidden(errs[0]) ||
		!apierrors.IsForbidden(errs[1]) {
		t.Errorf("a UID that is none: %v", errs)
	}
	made, errs := create("admin", note("11111111-2222-3333-4444-555555555555"), "system:masters")
	for i, o := range made {
		must(t, errs[i])
		if o.GetUID() != "11111111-2222-3333-4444-555555555555" ||
			o.GetCreationTimestamp().UTC().Format(time.RFC3339) != "2020-01-02T03:04:05Z" ||
			o.GetGeneration() != 7 ||
			fmt.Sprint(o.GetAnnotations()["keep"], len(o.GetAnnotations())) != "me1" {
			t.Errorf(
				"imported %s %s generation %d, %v",
				o.GetUID(),
				o.GetCreationTimestamp(),
				o.GetGeneration(),
				o.GetAnnotations(),
			)
		}
	}
	stored, err := admin.AppsV1().Deployments("default").Get(ctx, "imported", metav1.GetOptions{})
	if must(t, err); stored.UID != made[0].GetUID() {
		t.Errorf("stored with UID %s", stored.UID)
	}
	patch := fmt.Sprintf(
		`{"metadata":{"annotations":{%q:%q}}}`,
		v1alpha1.AnnotationImport,
		note("x")[v1alpha1.AnnotationImport],
	)
	if _, err := admin.AppsV1().Deployments("default").Patch(
		context.Background(),
		"imported",
		types.MergePatchType,
		[]byte(patch),
		metav1.PatchOptions{},
	); !apierrors.IsForbidden(
		err,
	) {
		t.Errorf("an object that exists gets another identity: %v", err)
	}
	must(t, admin.AppsV1().Deployments("default").Delete(ctx, "imported", metav1.DeleteOptions{}))
	must(
		t,
		dyn(
			t,
			c.admin("team"),
		).Resource(
			widgets("team"),
		).Namespace(
			"default",
		).Delete(
			ctx,
			"imported",
			metav1.DeleteOptions{},
		),
	)
}

func rbacGVR(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}
