package server_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// allocated: what a target has chosen is shown, is no wish when it is sent back, and what a user
// has chosen stays his.
func allocated(t *testing.T, c *center) {
	allocatedService(t, c)
	replacedService(t, c)
	appliedService(t, c)
	allocatedClaim(t, c)
	readService(t, c)
}

// readService: what is read of a Service is what is stored. Its targets are sent the one or the other,
// and what they have has to be the same.
func readService(t *testing.T, c *center) {
	ctx := t.Context()
	user, _ := c.services()
	for name, ip := range map[string]string{"headless": corev1.ClusterIPNone, "wished": "10.1.0.9", "any": ""} {
		_, err := user.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			ClusterIP: ip, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}}},
			metav1.CreateOptions{})
		must(t, err)
		s, err := user.Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		if s.Spec.IPFamilies != nil || s.Spec.IPFamilyPolicy != nil {
			t.Errorf("%s: no target has chosen %v %v", name, s.Spec.IPFamilies, *s.Spec.IPFamilyPolicy)
		}
		all, err := user.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		must(t, err)
		if len(all.Items) != 1 || all.Items[0].Spec.IPFamilies != nil {
			t.Errorf("%s: listed as %+v", name, all.Items)
		}
	}
}

// services are those of a namespace, as its user and as the center write them.
func (c *center) services() (user, own corev1client.ServiceInterface) {
	c.t.Helper()
	of := func(config *rest.Config) corev1client.ServiceInterface {
		return clients(c.t, config).CoreV1().Services("default")
	}
	return of(c.admin("team")), of(c.api.Loopback("team"))
}

// appliedService: charts write an empty address, and tools apply it again on the server's side.
func appliedService(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := c.services()
	apply := func() (*corev1.Service, error) {
		return user.Patch(ctx, "applied", types.ApplyPatchType, []byte(`{"apiVersion":"v1","kind":"Service",
			"metadata":{"name":"applied"},"spec":{"clusterIP":"","ports":[{"port":80}],"selector":{"app":"web"}}}`),
			metav1.PatchOptions{FieldManager: "helm"})
	}
	_, err := apply()
	must(t, err)
	_, err = own.Patch(ctx, "applied", types.JSONPatchType, []byte(`[
		{"op":"add","path":"/spec/clusterIP","value":"10.1.0.7"},
		{"op":"add","path":"/spec/clusterIPs","value":["10.1.0.7"]},
		{"op":"add","path":"/metadata/annotations","value":{"skerry.dev/allocated":"{\"clusterIP\":\"10.1.0.7\"}"}}]`),
		metav1.PatchOptions{FieldManager: "skerry"})
	must(t, err)
	s, err := apply()
	if err != nil || s.Spec.ClusterIP != "10.1.0.7" {
		t.Errorf("applied again: %v, %+v", err, s)
	}
}

func allocatedService(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := c.services()
	plain := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "balanced"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, Ports: []corev1.ServicePort{
				{Name: "a", Port: 80},
				{Name: "b", Port: 81, NodePort: 30081},
			}},
	}
	s, err := user.Create(ctx, plain, metav1.CreateOptions{})
	must(t, err)
	if s.Spec.HealthCheckNodePort != 0 {
		t.Errorf("allocated in the space: %+v", s.Spec)
	}
	fill := func(ip, node, health string) {
		t.Helper()
		mark, err := json.Marshal(
			`{"clusterIP":"` + ip + `","nodePorts":[` + node + `],"healthCheckNodePort":` + health + `}`,
		)
		must(t, err)
		_, err = own.Patch(
			ctx,
			"balanced",
			types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"skerry.dev/allocated":`+string(mark)+`}}}`),
			metav1.PatchOptions{},
		)
		must(t, err)
		_, err = own.Patch(
			ctx,
			"balanced",
			types.JSONPatchType,
			[]byte(
				`[{"op":"add","path":"/spec/clusterIP","value":"`+ip+`"},{"op":"add","path":"/spec/clusterIPs","value":["`+ip+`"]},
			{"op":"add","path":"/spec/ports/0/nodePort","value":`+node+`},{"op":"add","path":"/spec/healthCheckNodePort","value":`+health+`}]`,
			),
			metav1.PatchOptions{},
		)
		must(t, err)
	}
	has := func(what string, s *corev1.Service, err error, ip string, a, b, health int32, mark bool) {
		t.Helper()
		if err != nil || s.Spec.ClusterIP != ip || s.Spec.Ports[0].NodePort != a || s.Spec.Ports[1].NodePort != b ||
			s.Spec.HealthCheckNodePort != health ||
			(s.Annotations[v1alpha1.AnnotationAllocated] != "") != mark {
			t.Errorf("%s: %v %+v: %v", what, s.Annotations, s.Spec, err)
		}
	}
	fill("10.1.0.1", "30500", "30700")
	s, err = user.Update(ctx, plain, metav1.UpdateOptions{})
	has("written again as it was made", s, err, "10.1.0.1", 30500, 30081, 30700, true)
	_, err = user.Patch(
		ctx,
		"balanced",
		types.MergePatchType,
		[]byte(`{"spec":{"healthCheckNodePort":30701}}`),
		metav1.PatchOptions{},
	)
	if !apierrors.IsInvalid(err) {
		t.Errorf("a user changes what is allocated: %v", err)
	}
	read, err := user.Get(ctx, "balanced", metav1.GetOptions{})
	must(t, err)
	read.ResourceVersion, read.UID, read.ManagedFields = "", "", nil
	fill("10.9.0.1", "30900", "30901") // it moves
	s, err = user.Update(ctx, read.DeepCopy(), metav1.UpdateOptions{})
	has("what was read before a move is written back", s, err, "10.9.0.1", 30900, 30081, 30901, true)
	body, err := json.Marshal(read)
	must(t, err)
	notes := read.Annotations
	delete(notes, v1alpha1.AnnotationTargets)
	s, err = user.Patch(ctx, "balanced", types.StrategicMergePatchType, body, metav1.PatchOptions{})
	has("and as a patch", s, err, "10.9.0.1", 30900, 30081, 30901, true)
	s, err = user.Patch(
		ctx,
		"balanced",
		types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"skerry.dev/allocated":null}}}`),
		metav1.PatchOptions{},
	)
	has("the annotation is taken off", s, err, "10.9.0.1", 30900, 30081, 30901, true)
	read.Name = "again"
	s, err = user.Create(ctx, read, metav1.CreateOptions{})
	has("what was read is made anew", s, err, "", 0, 30081, 0, false)
	wished := plain.DeepCopy()
	wished.Name, wished.Spec.ClusterIP, wished.Spec.HealthCheckNodePort = "wished", "10.1.0.7", 30777
	s, err = user.Create(ctx, wished, metav1.CreateOptions{})
	has("a user's own", s, err, "10.1.0.7", 0, 30081, 30777, false)
	for _, name := range []string{"balanced", "again", "wished"} {
		must(t, user.Delete(ctx, name, metav1.DeleteOptions{}))
	}
}

// replacedService: who builds a Service anew and takes over some of what is there, as operators do,
// is answered as by Kubernetes, which fills in what was allocated and is left out.
func replacedService(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := c.services()
	built := func() *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "built"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
				ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, Ports: []corev1.ServicePort{
					{Name: "a", Port: 80},
					{Name: "b", Port: 81},
				}},
		}
	}
	_, err := user.Create(ctx, built(), metav1.CreateOptions{})
	must(t, err)
	mark, err := json.Marshal(`{"clusterIP":"10.1.0.1","nodePorts":[30500],"healthCheckNodePort":30700}`)
	must(t, err)
	_, err = own.Patch(
		ctx,
		"built",
		types.StrategicMergePatchType,
		[]byte(`{"metadata":{"annotations":{"skerry.dev/allocated":`+string(mark)+`}},"spec":{"clusterIP":"10.1.0.1",
		"clusterIPs":["10.1.0.1","fd00::1"],"ipFamilies":["IPv4","IPv6"],"ipFamilyPolicy":"PreferDualStack","healthCheckNodePort":30700,"ports":[{"port":80,"nodePort":30500}]}}`),
		metav1.PatchOptions{},
	)
	must(t, err)
	for what, put := range map[string]func(s, is *corev1.Service){
		"nothing":     func(*corev1.Service, *corev1.Service) {},
		"clusterIP":   func(s, is *corev1.Service) { s.Spec.ClusterIP = is.Spec.ClusterIP },
		"clusterIPs":  func(s, is *corev1.Service) { s.Spec.ClusterIPs = is.Spec.ClusterIPs },
		"annotations": func(s, is *corev1.Service) { s.Annotations = is.Annotations },
		"both of them": func(
			s, is *corev1.Service,
		) {
			s.Annotations, s.Spec.ClusterIP = is.Annotations, is.Spec.ClusterIP
		},
		"the port for probes": func(s, is *corev1.Service) { s.Spec.HealthCheckNodePort = is.Spec.HealthCheckNodePort },
		"all but clusterIPs":  func(s, is *corev1.Service) { is.DeepCopyInto(s); s.Spec.ClusterIPs = nil },
		"all but clusterIP":   func(s, is *corev1.Service) { is.DeepCopyInto(s); s.Spec.ClusterIP = "" },
		"all but node ports":  func(s, is *corev1.Service) { is.DeepCopyInto(s); s.Spec.Ports[0].NodePort = 0 },
		"the ports in reverse": func(
			s, is *corev1.Service,
		) {
			s.Spec.Ports[0], s.Spec.Ports[1] = s.Spec.Ports[1], s.Spec.Ports[0]
		},
	} {
		is, err := user.Get(ctx, "built", metav1.GetOptions{})
		must(t, err)
		s := built()
		put(s, is)
		s.ResourceVersion = is.ResourceVersion
		got, err := user.Update(ctx, s, metav1.UpdateOptions{})
		if err != nil {
			t.Errorf("with %s of what is there: %v", what, err)
			continue
		}
		ports := map[string]int32{}
		for _, p := range got.Spec.Ports {
			ports[p.Name] = p.NodePort
		}
		if got.Spec.ClusterIP != "10.1.0.1" || len(got.Spec.ClusterIPs) != 2 || ports["a"] != 30500 ||
			ports["b"] != 0 ||
			got.Spec.HealthCheckNodePort != 30700 ||
			got.Annotations[v1alpha1.AnnotationAllocated] == "" {
			t.Errorf("with %s of what is there: %v %+v", what, got.Annotations, got.Spec)
		}
	}
	moved := built()
	moved.Spec.ClusterIP = "10.1.0.2"
	if _, err := user.Update(ctx, moved, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a user changes the address by replacing: %v", err)
	}
	must(t, user.Delete(ctx, "built", metav1.DeleteOptions{}))
}

func allocatedClaim(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := clients(
		t,
		c.admin("team"),
	).CoreV1().PersistentVolumeClaims(
		"default",
	), clients(
		t,
		c.api.Loopback("team"),
	).CoreV1().PersistentVolumeClaims(
		"default",
	)
	plain := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")},
			}},
	}
	_, err := user.Create(ctx, plain, metav1.CreateOptions{})
	must(t, err)
	for _, volume := range []string{"pvc-1", "pvc-2"} { // on another target it is another one
		_, err := own.Patch(
			ctx,
			"data",
			types.MergePatchType,
			[]byte(
				`{"metadata":{"annotations":{"skerry.dev/allocated":"{\"volumeName\":\"`+volume+`\"}"}},"spec":{"volumeName":"`+volume+`"}}`,
			),
			metav1.PatchOptions{},
		)
		must(t, err)
		p, err := user.Update(ctx, plain, metav1.UpdateOptions{})
		if err != nil || p.Spec.VolumeName != volume || p.Annotations[v1alpha1.AnnotationAllocated] == "" {
			t.Errorf("written again as it was made: %+v %v", p, err)
		}
		if _, err = user.Patch(
			ctx,
			"data",
			types.MergePatchType,
			[]byte(`{"spec":{"volumeName":"pvc-9"}}`),
			metav1.PatchOptions{},
		); !apierrors.IsInvalid(
			err,
		) {
			t.Errorf("a user changes the volume: %v", err)
		}
		p.ResourceVersion, p.UID, p.Name = "", "", "copy-"+volume
		if p, err = user.Create(ctx, p, metav1.CreateOptions{}); err != nil || p.Spec.VolumeName != "" ||
			p.Annotations[v1alpha1.AnnotationAllocated] != "" {
			t.Errorf("made anew of what was read: %+v %v", p, err)
		}
	}
	p, err := own.Patch(
		ctx,
		"data",
		types.JSONPatchType,
		[]byte(
			`[{"op":"remove","path":"/spec/volumeName"},{"op":"remove","path":"/metadata/annotations/skerry.dev~1allocated"}]`,
		),
		metav1.PatchOptions{},
	)
	if err != nil || p.Spec.VolumeName != "" {
		t.Errorf("it has none yet on its next target: %+v %v", p, err)
	}
	p, err = user.Patch(
		ctx,
		"data",
		types.MergePatchType,
		[]byte(`{"spec":{"volumeName":"disk-7"}}`),
		metav1.PatchOptions{},
	)
	if err != nil || p.Spec.VolumeName != "disk-7" || p.Annotations[v1alpha1.AnnotationAllocated] != "" {
		t.Errorf("a user's own: %+v %v", p, err)
	}
	for _, name := range []string{"data", "copy-pvc-1", "copy-pvc-2"} {
		must(t, user.Delete(ctx, name, metav1.DeleteOptions{}))
	}
}
