package server_test

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// quotas: ResourceQuota and LimitRange of a namespace, with as many clients side by side as like.
func quotas(t *testing.T, c *center, space string) {
	ctx := t.Context()
	api := clients(t, c.admin(space)).CoreV1()
	const may = 7
	hard := corev1.ResourceList{
		"configmaps":                resource.MustParse("7"),
		"count/widgets.example.com": resource.MustParse("1"),
		"requests.cpu":              resource.MustParse("1"),
		"pods":                      resource.MustParse("2"),
	}
	_, err := api.ConfigMaps("default").List(ctx, metav1.ListOptions{}) // the space is furnished before it is counted
	must(t, err)
	_, err = api.ResourceQuotas(
		"default",
	).Create(
		ctx,
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}},
		metav1.CreateOptions{},
	)
	must(t, err)
	used := func(name corev1.ResourceName) string {
		q, err := api.ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{})
		must(t, err)
		n, ok := q.Status.Used[name]
		if !ok {
			return "unknown"
		}
		return n.String()
	}
	within(t, time.Minute, "a quota is counted", func() bool { return used("configmaps") == "1" })
	var made, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := api.ConfigMaps("default").Create(ctx, configMap(fmt.Sprint("c", i), nil), metav1.CreateOptions{})
			switch {
			case err == nil:
				made.Add(1)
			case apierrors.IsForbidden(err) && strings.Contains(
				err.Error(),
				"exceeded quota: q, requested: configmaps=1, used: configmaps=7, limited: configmaps=7",
			):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != may-1 || refused.Load() != 20-(may-1) { // kube-root-ca.crt is one of them
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
	must(t, api.ConfigMaps("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	within(
		t,
		time.Minute,
		"what is deleted is given back",
		func() bool { return used("configmaps") == "1" },
	) // the one that is made again
	_, err = api.ConfigMaps("default").Create(ctx, configMap("again", nil), metav1.CreateOptions{})
	check(t, err)
	if n := used("configmaps"); n != "2" {
		t.Errorf("used %s", n)
	}
	if _, err := api.ConfigMaps("default").Create(
		ctx,
		configMap("again", nil),
		metav1.CreateOptions{},
	); !apierrors.IsAlreadyExists(
		err,
	) {
		t.Error(err)
	}
	within(
		t,
		time.Minute,
		"what was charged and not written is given back",
		func() bool { return used("configmaps") == "2" },
	)

	// A LimitRange fills in what the quota asks for.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := api.Pods("default").Create(ctx, pod, metav1.CreateOptions{}); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "must specify requests.cpu") {
		t.Errorf("a Pod without what the quota counts: %v", err)
	}
	_, err = api.LimitRanges(
		"default",
	).Create(
		ctx,
		&corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Name: "l"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
				Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{
					"cpu": resource.MustParse("300m"),
				}, Default: corev1.ResourceList{"cpu": resource.MustParse("400m")},
				Max: corev1.ResourceList{"cpu": resource.MustParse("500m")}}}},
		},
		metav1.CreateOptions{},
	)
	must(t, err)
	within(t, time.Minute, "a LimitRange takes effect", func() bool {
		got, err := api.Pods("default").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && got.Spec.Containers[0].Resources.Requests.Cpu().String() == "300m"
	})
	_, err = api.Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	check(t, err)
	if n := used("requests.cpu"); n != "300m" {
		t.Errorf("used cpu %s", n)
	}
	big := pod.DeepCopy()
	big.Name, big.Spec.Containers[0].Resources.Requests = "big", corev1.ResourceList{"cpu": resource.MustParse("800m")}
	big.Spec.Containers[0].Resources.Limits = big.Spec.Containers[0].Resources.Requests
	if _, err := api.Pods("default").Create(ctx, big, metav1.CreateOptions{}); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "maximum cpu usage per Container is 500m") {
		t.Errorf("a Pod beyond the LimitRange: %v", err)
	}
	must(t, api.Pods("default").Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: ptr(int64(0))}))
}

func limit(t *testing.T, c *center, space string, quota map[string]any) {
	t.Helper()
	patch, err := (&unstructured.Unstructured{
		Object: map[string]any{"kind": "Space", "spec": map[string]any{"quota": quota}},
	}).MarshalJSON()
	must(t, err)
	_, err = dyn(
		t,
		c.admin("root"),
	).Resource(
		spacesGVR,
	).Patch(
		t.Context(),
		space,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
	)
	must(t, err)
}

// spaceQuota: what a Space may hold, exactly, and what to do about it.
func spaceQuota(t *testing.T, c *center, space string) {
	ctx := t.Context()
	api := clients(t, c.admin(space)).CoreV1()
	_, err := api.ConfigMaps("default").List(ctx, metav1.ListOptions{})
	must(t, err)
	within(t, time.Minute, "furnished", func() bool { keys, _ := c.api.Keys(ctx, space); return len(keys) == 8 })
	limit(t, c, space, map[string]any{"objects": int64(16), "crds": int64(1)})
	within(t, time.Minute, "the quota is known", func() bool {
		obj, err := dyn(t, c.admin("root")).Resource(spacesGVR).Get(ctx, space, metav1.GetOptions{})
		must(t, err)
		n, _, _ := unstructured.NestedInt64(obj.Object, "status", "usage", "objects")
		return n == 6 // two of kube-system count for nothing
	})
	var made atomic.Int64
	var all sync.WaitGroup
	var last atomic.Pointer[error]
	for i := range 30 {
		all.Go(func() {
			name := fmt.Sprint("c", i)
			var err error
			if i%2 == 0 {
				_, err = api.ConfigMaps("default").Create(ctx, configMap(name, nil), metav1.CreateOptions{})
			} else { // server-side apply makes it, too
				body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q}}`, name)
				_, err = api.ConfigMaps("default").Patch(
					ctx,
					name,
					types.ApplyPatchType,
					body,
					metav1.PatchOptions{FieldManager: "test"},
				)
			}
			if err == nil {
				made.Add(1)
			} else {
				last.Store(&err)
			}
		})
	}
	all.Wait()
	if made.Load() != 10 {
		t.Errorf("%d objects were made, 10 may be", made.Load())
	}
	if err := *last.Load(); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "spec.quota.objects (16 of 16)") ||
		!strings.Contains(err.Error(), "kubectl edit space") {
		t.Error(err)
	}
	_, err = clients(
		t,
		c.api.Loopback(space),
	).CoreV1().ConfigMaps(
		"default",
	).Create(
		ctx,
		configMap("by-the-center", nil),
		metav1.CreateOptions{},
	)
	check(t, err)
	must(t, api.ConfigMaps("default").Delete(ctx, "by-the-center", metav1.DeleteOptions{}))
	within(t, time.Minute, "the Space says so", func() bool {
		obj, err := dyn(t, c.admin("root")).Resource(spacesGVR).Get(ctx, space, metav1.GetOptions{})
		must(t, err)
		return strings.Contains(fmt.Sprint(obj.Object["status"]), "spec.quota.objects is used up")
	})
	must(t, api.ConfigMaps("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	within(t, time.Minute, "there is room again", func() bool {
		_, err := api.ConfigMaps("default").Create(ctx, configMap("again", nil), metav1.CreateOptions{})
		return err == nil
	})
	for i, name := range []string{"as", "bs"} {
		def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name+".example.com")
		spec := crd("v1")
		spec["names"] = map[string]any{
			"kind":     strings.ToUpper(name),
			"listKind": strings.ToUpper(name) + "List",
			"plural":   name,
			"singular": name,
		}
		def.Object["spec"] = spec
		_, err := dyn(t, c.admin(space)).Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
		if ok := i == 0; ok != (err == nil) || !ok && !strings.Contains(err.Error(), "spec.quota.crds (1 of 1)") {
			t.Errorf("definition %d: %v", i, err)
		}
	}
	grow := func(n int) error {
		_, err := api.ConfigMaps(
			"default",
		).Update(
			ctx,
			configMap("again", map[string]string{"x": strings.Repeat("y", n)}),
			metav1.UpdateOptions{},
		)
		return err
	}
	check(t, grow(500))
	limit(t, c, space, map[string]any{"objects": nil, "crds": nil, "bytes": "1Ki"})
	// Each try is larger than the last: before the limit is known one may succeed, and the same again
	// would be no growth.
	size := 1000
	within(t, time.Minute, "bytes are used up", func() bool { size++; return grow(size) != nil })
	if err := grow(size); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.quota.bytes") {
		t.Errorf("an object grows: %v", err)
	}
	check(t, grow(0))
	check(t, api.ConfigMaps("default").Delete(ctx, "again", metav1.DeleteOptions{}))

	limit(t, c, space, map[string]any{"bytes": nil, "requestsPerSecond": int64(5)})
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				RootCAs:      c.ca.pool(),
				Certificates: []tls.Certificate{c.ca.issue(t, "admin", "system:masters")},
			},
		},
	}
	defer client.CloseIdleConnections()
	within(t, time.Minute, "too many requests are refused", func() bool {
		resp, err := client.Get(c.url + "/clusters/" + space + "/api/v1/namespaces")
		must(t, err)
		resp.Body.Close()
		return resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "1"
	})
	resp, err := client.Get(c.url + "/clusters/furnished/api/v1/namespaces")
	if must(t, err); resp.StatusCode != http.StatusOK {
		t.Errorf("another space is refused with %s", resp.Status)
	}
	resp.Body.Close()
}

// fairness: a space whose requests hang holds half of the seats at most, its line is bounded, and
// another space is answered meanwhile.
func fairness(t *testing.T, c *center, space string) {
	ctx := t.Context()
	release := make(chan struct{})
	var hanging atomic.Int64
	hook := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		hanging.Add(1)
		<-release
	}))
	defer hook.Close()
	reg := clients(t, c.admin(space)).AdmissionregistrationV1()
	_, err := reg.ValidatingWebhookConfigurations().Create(
		ctx,
		&registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"},
			Webhooks: []registrationv1.ValidatingWebhook{
				{
					Name:                    "v.example.com",
					AdmissionReviewVersions: []string{"v1"},
					SideEffects:             ptr(registrationv1.SideEffectClassNone),
					TimeoutSeconds: ptr(
						int32(30),
					),
					Rules: []registrationv1.RuleWithOperations{onConfigMaps(registrationv1.Create)},
					ClientConfig: registrationv1.WebhookClientConfig{
						URL:      &hook.URL,
						CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw}),
					},
				},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{
				RootCAs:      c.ca.pool(),
				Certificates: []tls.Certificate{c.ca.issue(t, "admin", "system:masters")},
			},
		},
	}
	defer client.CloseIdleConnections()
	var tooMany atomic.Int64
	var all sync.WaitGroup
	create := func(i int) {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%d"}}`, i)
		resp, err := client.Post(
			c.url+"/clusters/"+space+"/api/v1/namespaces/default/configmaps",
			"application/json",
			strings.NewReader(body),
		)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusTooManyRequests {
			tooMany.Add(1)
		}
	}
	// 8 seats: 4 for one space; 16 may wait.
	for i := range 40 {
		all.Go(func() { create(i) })
	}
	within(
		t,
		time.Minute,
		"the flood has its seats, and its line is full",
		func() bool { return hanging.Load() == 4 && tooMany.Load() == 40-4-16 },
	)
	for range 50 {
		_, err := clients(t, c.admin("furnished")).CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		must(t, err)
	}
	if n := hanging.Load(); n != 4 {
		t.Errorf("the flood holds %d of 8 seats", n)
	}
	close(release)
	all.Wait()
}
