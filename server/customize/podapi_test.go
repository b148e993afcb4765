package customize

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

const workload = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"op"},"spec":{"template":{"spec":{
	"serviceAccountName":"op","volumes":[{"name":"data","emptyDir":{}}],
	"initContainers":[{"name":"init"}],
	"containers":[
		{"name":"plain","env":[{"name":"A","value":"$(KUBERNETES_SERVICE_HOST)"}]},
		{"name":"host","env":[{"name":"KUBERNETES_SERVICE_HOST","value":"10.1.1.1"}]},
		{"name":"own","volumeMounts":[{"name":"data","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}}}}`

func decoded(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// rendered is a workload as it is sent, decoded.
func rendered(t *testing.T, text string, api placement.PodAPI) map[string]any {
	t.Helper()
	o := decoded(t, text)
	body, err := Render(o, Origin{Space: "shop", UID: "u", PodAPI: api})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(o, decoded(t, text)) {
		t.Error("the object itself was changed")
	}
	return decoded(t, string(body))
}

func podOf(o map[string]any) map[string]any { return fields.Map(o, "spec", "template", "spec") }

func container(o map[string]any, list, name string) map[string]any {
	for c := range fields.Maps(podOf(o), list) {
		if c["name"] == name {
			return c
		}
	}
	return nil
}

func TestPodsAreGivenTheAPIOfTheirSpace(t *testing.T) {
	o := rendered(t, workload, placement.SpaceAPI)
	if got := fields.String(o, "metadata", "annotations", store.PodAPI); got != "op" {
		t.Errorf("the workload says %q", got)
	}
	pod := podOf(o)
	if pod["automountServiceAccountToken"] != false {
		t.Error("the site's own token is mounted, too")
	}
	if v := fields.List(pod, "volumes"); len(v) != 2 ||
		!strings.Contains(encoded(v[1]), `"name":"`+store.PodAPISecret("op")+`"`) {
		t.Errorf("volumes %v", encoded(v))
	}
	for _, c := range []struct {
		list, name      string
		mounts, environ int
		first           string
	}{
		{"initContainers", "init", 1, 3, "KUBERNETES_SERVICE_HOST"},
		{"containers", "plain", 1, 4, "KUBERNETES_SERVICE_HOST"},
		{"containers", "host", 1, 1, "KUBERNETES_SERVICE_HOST"},
		{"containers", "own", 1, 0, ""},
	} {
		got := container(o, c.list, c.name)
		env := fields.List(got, "env")
		if len(fields.List(got, "volumeMounts")) != c.mounts || len(env) != c.environ {
			t.Errorf("%s: %s", c.name, encoded(got))
			continue
		}
		if c.environ > 0 && env[0].(map[string]any)["name"] != c.first {
			t.Errorf("%s: %s", c.name, encoded(env))
		}
	}
	if own := encoded(container(o, "containers", "own")); strings.Contains(own, store.PodAPIConfigMap) {
		t.Errorf("a container with credentials of its own became %s", own)
	}
	if host := encoded(container(o, "containers", "host")); !strings.Contains(host, `"value":"10.1.1.1"`) {
		t.Errorf("a container with an address of its own became %s", host)
	}
	again, err := Render(o, Origin{Space: "shop", UID: "u", PodAPI: placement.SpaceAPI})
	if err != nil || encoded(podOf(decoded(t, string(again)))) != encoded(pod) {
		t.Errorf("given twice: %s, %v", again, err)
	}
}

func encoded(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// What a pod brings itself stays: its template is sent as it is written.
func TestPodsThatWantNoAPIAreLeftAlone(t *testing.T) {
	for name, text := range map[string]string{
		"no token": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c"}]}}`,
		"own mount": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"c",
			"volumeMounts":[{"name":"v","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]}}`,
		"no pods": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}`,
	} {
		with, without := rendered(t, text, placement.SpaceAPI), rendered(t, text, placement.NoWish)
		if !reflect.DeepEqual(with, without) {
			t.Errorf("%s: %s instead of %s", name, encoded(with), encoded(without))
		}
	}
	if pod := podOf(rendered(t, workload, placement.NoAPI)); pod["automountServiceAccountToken"] != false ||
		strings.Contains(encoded(pod), store.PodAPIConfigMap) {
		t.Errorf("without any API: %s", encoded(pod))
	}
	if pod := podOf(rendered(t, workload, placement.TargetAPI)); encoded(pod) != encoded(podOf(decoded(t, workload))) {
		t.Errorf("with the target's: %s", encoded(pod))
	}
}

// Every kind with pods is given the same, and what a target reports shows none of it.
func TestWhatIsGivenIsTakenOffReports(t *testing.T) {
	const spec = `{"containers":[{"name":"c","env":[{"name":"A","value":"b"}]}],"ephemeralContainers":[{"name":"e"}]}`
	asked := `{"automountServiceAccountToken":true,` + spec[1:]
	for apiVersion, kinds := range map[string]map[string]string{
		"v1": {"Pod": spec, "ReplicationController": `{"template":{"spec":` + spec + `}}`},
		"apps/v1": {"Deployment": `{"template":{"spec":` + asked + `}}`,
			"StatefulSet": `{"template":{"spec":` + spec + `}}`, "DaemonSet": `{"template":{"spec":` + spec + `}}`,
			"ReplicaSet": `{"template":{"spec":` + asked + `}}`},
		"batch/v1": {"Job": `{"template":{"spec":` + spec + `}}`,
			"CronJob": `{"jobTemplate":{"spec":{"template":{"spec":` + spec + `}}}}`},
	} {
		for kind, spec := range kinds {
			text := `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"x"},"spec":` + spec + `}`
			o := rendered(t, text, placement.SpaceAPI)
			if got := fields.String(o, "metadata", "annotations", store.PodAPI); got != "default" {
				t.Errorf("%s says %q", kind, got)
			}
			if n := strings.Count(encoded(o["spec"]), `"mountPath"`); n != 2 {
				t.Errorf("%s has %d mounts", kind, n)
			}
			TakeAPI(o, apiVersion, kind)
			if got := encoded(o["spec"]); got != encoded(decoded(t, text)["spec"]) {
				t.Errorf("%s shows %s", kind, got)
			}
		}
	}
	job := rendered(t, `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x"},"spec":{"template":{"spec":`+
		asked+`}}}`, placement.SpaceAPI)
	if podOf(job)["automountServiceAccountToken"] != false {
		t.Error("a Job that is there already would be changed")
	}
	revision := decoded(t, `{"data":{"spec":{"template":{"$patch":"replace","spec":`+
		encoded(podOf(rendered(t, workload, placement.SpaceAPI)))+`}}}}`)
	TakeAPI(revision, "apps/v1", "ControllerRevision")
	if got := encoded(revision); strings.Contains(got, store.PodAPIConfigMap) || !strings.Contains(got, "10.1.1.1") {
		t.Errorf("a ControllerRevision shows %s", got)
	}
}

// A mark that a user copies means nothing; that of a parent stays.
func TestOnlyAParentsMarkStays(t *testing.T) {
	const text = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","annotations":{"skerry.dev/space-api":"op"%s}}}`
	mine := rendered(t, strings.Replace(text, "%s", "", 1), placement.NoWish)
	parents := rendered(t, strings.Replace(text, "%s", `,"skerry.dev/origin":"shop/"`, 1), placement.NoWish)
	if got := fields.String(mine, "metadata", "annotations", store.PodAPI); got != "" {
		t.Errorf("a user's mark %q is sent", got)
	}
	if got := fields.String(parents, "metadata", "annotations", store.PodAPI); got != "op" {
		t.Errorf("a parent's mark became %q", got)
	}
}
