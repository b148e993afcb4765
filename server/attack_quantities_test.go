package server_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// absurdQuantities: mallory may edit in one namespace, and writes amounts with which Kubernetes
// computes for hours, in each way in which a write can be made. Tries that get through are small
// enough to end.
func absurdQuantities(t *testing.T, c *center) {
	eve, mallory := attackers(t, c, "quantities")
	const ns = "/api/v1/namespaces/default/"
	const dry = "?dryRun=All"
	pod := func(resources string) string {
		return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"b",` + resources + `}]}}`
	}
	plain := pod(`"resources":{"requests":{"cpu":"1"}}`)
	if code, answer := mallory.do("POST", ns+"pods", plain); code != 201 {
		t.Fatal(code, answer)
	}
	typed := func(q string) *corev1.PersistentVolumeClaim {
		p := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "1e10000"}}}
		p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		o := map[string]any{}
		o["spec"] = map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": q}}}
		must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o, p))
		p.TypeMeta, p.Name = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, "a"
		p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		return p
	}
	proto, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), typed("1e20000"))
	must(t, err)
	cbor, err := direct.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "b",
			"resources": map[string]any{"limits": map[string]any{"memory": "1e20000"}}}}}})
	must(t, err)
	type try struct{ method, path, body string }
	tries := []try{
		{"POST", ns + "pods" + dry, "application/yaml metadata: {name: b}\nspec: {containers: [{name: a, image: b, " +
			"resources: {limits: {cpu: 1e20000}}}]}"},
		{"POST", ns + "persistentvolumeclaims" + dry, "application/vnd.kubernetes.protobuf " + string(proto)},
		{"PATCH", ns + "pods/x" + dry + "&fieldManager=m", "application/apply-patch+cbor " + string(cbor)},
		{"PATCH", ns + "pods/x" + dry + "&fieldManager=m", "application/apply-patch+yaml " +
			strings.Replace(pod(`"resources":{"limits":{"cpu":"1e20000"}}`), `"a"`, `"x"`, 1)},
		{"PATCH", ns + "pods/a" + dry, `application/merge-patch+json {"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"cpu":"1e20000"}}}]}}`},
		{"PATCH", ns + "pods/a" + dry, `application/strategic-merge-patch+json {"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e20000"}}}]}}`},
		{"PATCH", ns + "pods/a" + dry, `application/json-patch+json [{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"1e20000"}]`},
		{"PATCH", ns + "pods/a" + dry, `application/json-patch+json [{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","Path":"/x","value":"1e20000"}]`},
		{"PATCH", ns + "pods/a" + dry, `application/json-patch+json [{"op":"add","path":"/metadata/annotations","value":{"a":"1e20000"}},` +
			`{"op":"copy","from":"/metadata/annotations/a","path":"/spec/containers/0/resources/requests/cpu"}]`},
		{"PATCH", ns + "pods/a" + dry, `application/json-patch+json [{"op":"add","path":"/spec/containers/0/resources","value":{"limits":{"cpu":1e20000}}}]`},
		{"POST", ns + "limitranges" + dry, `{"metadata":{"name":"a"},"spec":{"limits":[{"type":"Pod","max":{"cpu":"1e20000"}}]}}`},
		{"POST", ns + "resourcequotas" + dry, `{"metadata":{"name":"a"},"spec":{"hard":{"requests.cpu":"1e20000"}}}`},
		{"POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers" + dry, `{"metadata":{"name":"a"},"spec":{
			"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"a"},"metrics":[{"type":"External","external":
			{"metric":{"name":"a"},"target":{"type":"Value","value":"1e20000"}}}]}}`},
		{"POST", ns + "pods" + dry, strings.Replace(plain, `"spec":{`, `"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1e20000"}}],`, 1)},
		{"POST", ns + "pods" + dry, strings.Replace(plain, `"spec":{`, `"spec":{"overhead":{"cpu":"1e20000"},`, 1)},
		{"POST", ns + "pods" + dry, strings.Replace(plain, `"spec":{`, `"spec":{"resources":{"limits":{"cpu":"1e20000"}},`, 1)},
		{"POST", ns + "pods" + dry, pod(`"env":[{"name":"a","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1e20000"}}}]`)},
		{"POST", ns + "pods" + dry, pod(`"resources":{"requests":{"cpu":"1e20000"},"requests":{"cpu":"1"}}`)},
		{"PATCH", ns + "pods/a" + dry, `application/merge-patch+json {"spec":{"containers":[{"name":"a","image":"b","resources":{"limits":{"cpu":"1\u006520000"}}}]}}`},
		{"PATCH", ns + "pods/a" + dry, `application/strategic-merge-patch+json {"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"\u0031\u0065\u003200\u00300"}}}]}}`},
		{"POST", ns + "pods" + dry, "application/yaml metadata: {name: b}\nspec: {containers: [{name: a, image: b, " +
			`resources: {limits: {cpu: "1\x65\x320000"}}}]}`},
		{"POST", ns + "pods" + dry, pod(`"resources":{"requests":{"cpu":"12345678901234567890123e20000"}}`)},
		{"POST", ns + "pods" + dry, pod(`"resources":{"requests":{"cpu":"1e-20000"}}`)},
		{"POST", ns + "pods" + dry, pod(`"resources":{"requests":{"cpu":"+1.5E+0020000"}}`)},
		{"POST", ns + "pods" + dry, pod(`"resources":{"requests":{"cpu":1e20000}}`)},
	}
	for _, group := range []string{"deployments", "statefulsets", "daemonsets", "replicasets"} {
		tries = append(tries, try{"POST", "/apis/apps/v1/namespaces/default/" + group + dry, `{"metadata":{"name":"a"},"spec":{
			"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a",
			"image":"b","resources":{"limits":{"cpu":"1e20000"}}}]}}}}`})
	}
	through := 0
	for _, try := range tries {
		who := mallory
		if strings.Contains(try.path, "quotas") || strings.Contains(try.path, "limitranges") {
			who = eve
		}
		code, answer := who.do(try.method, try.path, try.body)
		if code != 400 || !strings.Contains(answer, "exponent") {
			through++
			t.Errorf("%s %s %.200q: %d %.200s", try.method, try.path, try.body, code, answer)
		}
	}
	t.Logf("%d tries, %d got through", len(tries), through)
	// What only looks like one is a text.
	for i, meta := range []string{`"labels":{"sha":"1e93847"}`, `"annotations":{"limits":"1e9384712"}`} {
		body := fmt.Sprintf(`{"metadata":{"name":"text-%d",%s},"data":{"limits":"1e9384712","max":"1e20000"}}`, i, meta)
		if code, answer := mallory.do("POST", ns+"configmaps", body); code != 201 {
			t.Errorf("%s: %d %.300s", body, code, answer)
		}
	}
	if code, answer := mallory.do("POST", ns+"pods"+dry,
		pod(`"env":[{"name":"SHA","value":"1e93847"}],"args":["1e9384712"],"resources":{"limits":{"cpu":"1e3"}}`)); code >= 500 || strings.Contains(answer, "exponent") {
		t.Errorf("%d %.300s", code, answer)
	}
	if code, answer := mallory.do("POST", ns+"persistentvolumeclaims", "application/vnd.kubernetes.protobuf "+
		string(must2(runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), typed("1Gi"))))); code != 201 {
		t.Errorf("%d %.300s", code, answer)
	}
}

func must2(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
