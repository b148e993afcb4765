package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/customize"
)

// clusterDefaults: a space fills in what a cluster's admission does as far as it knows it, and
// sends none of it that is the site's to choose.
func clusterDefaults(t *testing.T, c *center) {
	ctx, user := t.Context(), clients(t, c.admin("team"))
	pod := func(name, class string, priority *int32) (*corev1.Pod, error) {
		return user.CoreV1().Pods(
			"default",
		).Create(
			ctx,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
				PriorityClassName: class, Priority: priority, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
			metav1.CreateOptions{},
		)
	}
	has := func(p *corev1.Pod, err error, priority *int32) {
		t.Helper()
		must(t, err)
		if p.Spec.ServiceAccountName != "default" || p.Spec.DeprecatedServiceAccount != "default" {
			t.Errorf("%s runs as %q", p.Name, p.Spec.ServiceAccountName)
		}
		if is := p.Spec.Priority; (is == nil) != (priority == nil) || is != nil && *is != *priority {
			t.Errorf("%s has another priority: %v", p.Name, is)
		}
		content, err := json.Marshal(p)
		must(t, err)
		var m map[string]any
		must(t, json.Unmarshal(content, &m))
		m["kind"], m["apiVersion"] = "Pod", "v1"
		sent, err := customize.Render(m, customize.Origin{})
		must(t, err)
		for _, text := range []string{`"priority"`, `"preemptionPolicy"`, `"serviceAccountName"`, `"serviceAccount"`} {
			if strings.Contains(string(sent), text) {
				t.Errorf("%s is sent with %s", p.Name, text)
			}
		}
	}
	p, err := pod("plain", "", nil)
	has(p, err, ptr(int32(0)))
	p, err = pod("of-the-site", "site-high", nil)
	has(p, err, nil)
	for _, class := range []schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, {
			ObjectMeta:    metav1.ObjectMeta{Name: "usual"},
			Value:         10,
			GlobalDefault: true,
		},
	} {
		_, err := user.SchedulingV1().PriorityClasses().Create(ctx, &class, metav1.CreateOptions{})
		must(t, err)
	}
	_, err = user.SchedulingV1().PriorityClasses().Create(ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "second"}, Value: 20, GlobalDefault: true}, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PriorityClass usual is already marked as default") {
		t.Errorf("a second default: %v", err)
	}
	p, err = pod("high", "high", nil)
	has(p, err, ptr(int32(1000)))
	p, err = pod("usual", "", nil)
	has(p, err, ptr(int32(10)))
	if _, err = pod("wrong", "high", ptr(int32(7))); !apierrors.IsForbidden(err) {
		t.Errorf("a priority that is not that of its class: %v", err)
	}
	systemPriorities(t, c)
	systemRoles(t, c)
	claimDefaults(t, c)
	serviceDefaults(t, c)
}

func claimDefaults(t *testing.T, c *center) {
	ctx, user := t.Context(), clients(t, c.admin("team"))
	own := clients(t, c.api.Loopback("team")).CoreV1().PersistentVolumeClaims("default")
	plain := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")},
				}},
		}
	}
	claims := user.CoreV1().PersistentVolumeClaims("default")
	p, err := claims.Create(ctx, plain("reported"), metav1.CreateOptions{})
	if must(t, err); p.Spec.StorageClassName != nil {
		t.Errorf("a class was invented: %s", *p.Spec.StorageClassName)
	}
	for _, class := range []string{"standard", "local-path"} { // of one site, then of another
		_, err = own.Patch(
			ctx,
			"reported",
			types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"skerry.dev/allocated":"{\"storageClass\":\"`+class+
				`\"}"}},"spec":{"storageClassName":"`+class+`"}}`),
			metav1.PatchOptions{},
		)
		must(t, err)
		p, err = claims.Update(ctx, plain("reported"), metav1.UpdateOptions{})
		if must(t, err); p.Spec.StorageClassName == nil || *p.Spec.StorageClassName != class {
			t.Errorf("written as it was made, its class is %v", p.Spec.StorageClassName)
		}
	}
	p.ResourceVersion, p.UID, p.Name = "", "", "copied"
	if p, err = claims.Create(ctx, p, metav1.CreateOptions{}); err != nil || p.Spec.StorageClassName != nil {
		t.Errorf("made anew of what was read: %v %v", p.Spec.StorageClassName, err)
	}
	_, err = user.StorageV1().StorageClasses().Create(
		ctx,
		&storagev1.StorageClass{Provisioner: "x", ObjectMeta: metav1.ObjectMeta{Name: "own",
			Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}},
		metav1.CreateOptions{},
	)
	must(t, err)
	p, err = claims.Create(ctx, plain("own"), metav1.CreateOptions{})
	if must(t, err); p.Spec.StorageClassName == nil || *p.Spec.StorageClassName != "own" {
		t.Errorf("the space's default class is not filled in: %v", p.Spec.StorageClassName)
	}
}

func serviceDefaults(t *testing.T, c *center) {
	ctx, user := t.Context(), clients(t, c.admin("team")).CoreV1().Services("default")
	own := clients(t, c.api.Loopback("team")).CoreV1().Services("default")
	plain := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "families"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	_, err := user.Create(ctx, plain, metav1.CreateOptions{})
	must(t, err)
	for _, x := range []struct{ ip, families, policy string }{
		{"10.0.0.1", `["IPv4"]`, "SingleStack"}, {
			"fd00::1",
			`["IPv6","IPv4"]`,
			"PreferDualStack",
		}, {"10.0.0.2", `["IPv4"]`, "SingleStack"},
	} {
		mark, err := json.Marshal(
			`{"clusterIP":"` + x.ip + `","ipFamilies":` + x.families + `,"ipFamilyPolicy":"` + x.policy + `"}`,
		)
		must(t, err)
		_, err = own.Patch(
			ctx,
			"families",
			types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"skerry.dev/allocated":`+string(mark)+`}},"spec":{"clusterIP":"`+
				x.ip+`","clusterIPs":["`+x.ip+`"],"ipFamilies":`+x.families+`,"ipFamilyPolicy":"`+x.policy+`"}}`),
			metav1.PatchOptions{},
		)
		must(t, err)
		s, err := user.Update(ctx, plain, metav1.UpdateOptions{})
		must(t, err)
		var want []corev1.IPFamily
		must(t, json.Unmarshal([]byte(x.families), &want))
		if !slices.Equal(s.Spec.IPFamilies, want) || s.Spec.IPFamilyPolicy == nil ||
			string(*s.Spec.IPFamilyPolicy) != x.policy {
			t.Errorf("written as it was made: %v %v", s.Spec.IPFamilies, s.Spec.IPFamilyPolicy)
		}
	}
	s, err := user.Get(ctx, "families", metav1.GetOptions{})
	must(t, err)
	s.ResourceVersion, s.UID, s.Name = "", "", "families-copied"
	if s, err = user.Create(ctx, s, metav1.CreateOptions{}); err != nil || s.Spec.IPFamilies != nil ||
		s.Spec.IPFamilyPolicy != nil {
		t.Errorf("made anew of what was read: %+v %v", s.Spec, err)
	}
}
