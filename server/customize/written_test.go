package customize

import (
	"strings"
	"testing"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// writes is a Deployment as Linkerd and Gardener write theirs: no token is added, and the volume is written out.
const writes = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"op"},"spec":{"template":{"spec":{
	"serviceAccountName":"op","automountServiceAccountToken":false,
	"volumes":[
		{"name":"data","emptyDir":{}},
		{"name":"kube-api-access","projected":{"defaultMode":420,"sources":[
			{"serviceAccountToken":{"path":"token","expirationSeconds":3607}},
			{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt","mode":256}]}},
			{"downwardAPI":{"items":[
				{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}},
			{"serviceAccountToken":{"path":"vault","audience":"vault","expirationSeconds":600}},
			{"configMap":{"name":"mine"}}]}}],
	"containers":[
		{"name":"op","volumeMounts":[
			{"name":"kube-api-access","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]},
		{"name":"other","volumeMounts":[{"name":"data","mountPath":"/data"}]}]}}}}`

func TestAWrittenTokenIsForTheAPIOfTheSpace(t *testing.T) {
	o := rendered(t, writes, placement.SpaceAPI)
	if got := fields.String(o, "metadata", "annotations", store.PodAPI); got != "op" {
		t.Errorf("the workload says %q", got)
	}
	secret := func(key, more string) string {
		return `{"secret":{"items":[{"key":"` + key + `",` + more + `"path":"` + key + `"}],"name":"` +
			store.PodAPISecret("op") + `"}}`
	}
	want := `[` + secret("token", "") + `,` + secret("ca.crt", `"mode":256,`) + `,` + secret("namespace", "") +
		`,{"serviceAccountToken":{"audience":"vault","expirationSeconds":600,"path":"vault"}},{"configMap":{"name":"mine"}}]`
	volumes := fields.List(podOf(o), "volumes")
	if len(volumes) != 2 {
		t.Fatalf("volumes %s", encoded(volumes))
	}
	if got := encoded(fields.List(volumes[1].(map[string]any), "projected", "sources")); got != want {
		t.Errorf("sources %s\ninstead of %s", got, want)
	}
	if env := fields.List(container(o, "containers", "op"), "env"); len(env) != 3 {
		t.Errorf("the environment is %s", encoded(env))
	}
	c := encoded(container(o, "containers", "other"))
	if strings.Contains(c, "env") || strings.Count(c, "mountPath") != 1 {
		t.Errorf("a container that asks for no token became %s", c)
	}
	TakeAPI(o, "apps/v1", "Deployment")
	if got := encoded(o["spec"]); got != encoded(decoded(t, writes)["spec"]) {
		t.Errorf("it shows %s", got)
	}
}

// A container without a token of its own has that of Kubernetes beside a written one.
func TestAWrittenTokenBesideTheUsualOne(t *testing.T) {
	text := strings.Replace(writes, `"automountServiceAccountToken":false,`, "", 1)
	o := rendered(t, text, placement.SpaceAPI)
	c := encoded(container(o, "containers", "other"))
	if !strings.Contains(c, accountDirectory) || !strings.Contains(c, "env") {
		t.Errorf("the other container is %s", c)
	}
	if n := strings.Count(encoded(container(o, "containers", "op")), "mountPath"); n != 1 {
		t.Errorf("the first container has %d mounts", n)
	}
	TakeAPI(o, "apps/v1", "Deployment")
	if got := encoded(o["spec"]); got != encoded(decoded(t, text)["spec"]) {
		t.Errorf("it shows %s", got)
	}
}

// The API of the site, and no API at all, are no reason to change what is written.
func TestAWrittenTokenForAnotherAPI(t *testing.T) {
	for _, api := range []placement.PodAPI{placement.TargetAPI, placement.NoWish, placement.NoAPI} {
		if got := encoded(podOf(rendered(t, writes, api))); got != encoded(podOf(decoded(t, writes))) {
			t.Errorf("%s: %s", api, got)
		}
	}
}
