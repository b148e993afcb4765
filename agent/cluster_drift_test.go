package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// other is somebody else with access to the same cluster.
type other struct {
	s    *site
	http *http.Client
	host string
}

func (s *site) other() other {
	s.t.Helper()
	view, err := s.access.View(space)
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(view.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { client.CloseIdleConnections(); utilnet.CloseIdleConnectionsFor(client.Transport) })
	return other{s, client, view.Config.Host}
}

func (o other) send(method, path, kind, body string) {
	o.s.t.Helper()
	req, err := http.NewRequestWithContext(o.s.t.Context(), method, o.host+path, strings.NewReader(body))
	if err != nil {
		o.s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := o.http.Do(req)
	if err != nil {
		o.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	if resp.StatusCode >= 300 {
		o.s.t.Fatalf("%s %s: %s", method, path, answer)
	}
}

// patch sends a merge patch.
func (o other) patch(path, manager, body string) {
	o.s.t.Helper()
	o.send("PATCH", path+"?fieldManager="+manager, "application/merge-patch+json", body)
}

func (s *site) liveSpec(e store.Entry, ns string) (spec struct {
	Replicas int
	Template struct {
		Spec struct{ Containers []struct{ Image string } }
	}
}, o *target.Object) {
	s.t.Helper()
	o, err := s.client().Get(s.t.Context(), target.Of(e.Key, "apps/v1"), ns, e.Key.Name, false)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(o.Spec, &spec); err != nil {
		s.t.Fatal(err)
	}
	return spec, o
}

func TestClusterDrift(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-drift-%d", time.Now().UnixNano())
	web, c := webDeployment(1, ns, "web", 2, "example.com/web:1"), configMap(ns, "c", "ours")
	secret := live("", "secrets", "v1", "Secret", ns, "s", map[string]any{"data": map[string]any{"password": "eA=="}})
	told := with(configMap(ns, "told", "ours"), `{"whenDrifted":"Report"}`)
	s.desire(namespace(ns), web, c, secret, told)
	s.settled()
	<-s.observer.Ready()
	somebody := s.other()
	deployment := "/apis/apps/v1/namespaces/" + ns + "/deployments/web"
	core := "/api/v1/namespaces/" + ns

	var took []time.Duration
	for i := range 20 {
		name := fmt.Sprint("drift-", i)
		e := configMap(ns, name, "ours")
		s.desire(e)
		s.settled()
		began := time.Now()
		somebody.patch(core+"/configmaps/"+name, "edit", `{"data":{"value":"theirs"}}`)
		eventually(t, "the value is set back", func() bool { return s.configMapValue(ns, name) == "ours" })
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("drift to set back, the other's write included: p50 %v, max %v", took[10], took[19])

	somebody.patch(core+"/secrets/s", "edit", `{"data":{"password":"eQ=="}}`)
	somebody.patch(
		deployment,
		"edit",
		`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"example.com/web:evil"}]}}}}`,
	)
	somebody.patch(deployment+"/scale", "kubectl", `{"spec":{"replicas":5}}`)
	eventually(t, "image and replicas are set back", func() bool {
		spec, _ := s.liveSpec(web, ns)
		return spec.Replicas == 2 && spec.Template.Spec.Containers[0].Image == "example.com/web:1"
	})
	eventually(t, "the secret is set back", func() bool {
		_, o, err := s.client().Read(t.Context(), target.Resource{Version: "v1", Plural: "secrets"}, ns, "s")
		return err == nil && o["data"].(map[string]any)["password"] == "eA=="
	})
	somebody.patch(core+"/configmaps/told", "edit", `{"data":{"value":"theirs"}}`)
	if m := s.reported(told, "Drifted"); !strings.Contains(m, `"edit" has changed .data.value`) {
		t.Errorf("message %q", m)
	}
	t.Log(s.report(told.Key).Error.Message)
	s.desire(with(configMap(ns, "told", "newer"), `{"whenDrifted":"Report"}`))
	t.Log(s.reported(told, "Conflict"))
	somebody.patch(core+"/configmaps/told", "edit", `{"data":{"value":"newer"}}`)

	// What is not ours stays, and costs nothing.
	eventually(t, "only what was reported is open", func() bool { return s.applier.Pending() <= 1 })
	_, before := s.liveSpec(web, ns)
	somebody.patch(core+"/configmaps/c", "edit", `{"data":{"more":"x"}}`)
	time.Sleep(300 * time.Millisecond)
	if _, after := s.liveSpec(web, ns); after.Metadata.Generation != before.Metadata.Generation ||
		s.configMapValue(ns, "c") != "ours" {
		t.Error("something was written without need")
	}
	s.desire(gone(namespace(ns)), gone(web), gone(c), gone(secret), gone(told))
}

func TestClusterAutoscaler(t *testing.T) {
	s := cluster(t)
	ns := fmt.Sprintf("agent-scale-%d", time.Now().UnixNano())
	web := webDeployment(1, ns, "web", 2, "example.com/web:1")
	s.desire(namespace(ns), web)
	s.settled()
	<-s.observer.Ready()
	somebody := s.other()
	autoscaler := `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler",` +
		`"metadata":{"name":"web"},"spec":{"minReplicas":4,"maxReplicas":6,` +
		`"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`
	somebody.send(
		"POST",
		"/apis/autoscaling/v2/namespaces/"+ns+"/horizontalpodautoscalers",
		"application/json",
		autoscaler,
	)
	scaled := func() int { spec, _ := s.liveSpec(web, ns); return spec.Replicas }
	eventually(t, "the autoscaler has scaled", func() bool { return scaled() == 4 })
	eventually(t, "its ownership is known", func() bool { r, _ := s.inventory.Get(web.Key); return r.Autoscaled })
	s.desire(webDeployment(2, ns, "web", 2, "example.com/web:2"))
	s.settled()
	spec, o := s.liveSpec(web, ns)
	if spec.Replicas != 4 || spec.Template.Spec.Containers[0].Image != "example.com/web:2" {
		t.Errorf("after an update: %d replicas of %s", spec.Replicas, spec.Template.Spec.Containers[0].Image)
	}
	for _, m := range o.Metadata.ManagedFields {
		t.Logf(
			"%s %s %s: replicas %v",
			m.Manager,
			m.Operation,
			m.Subresource,
			strings.Contains(string(m.FieldsV1), `"f:replicas"`),
		)
	}
	s.desire(gone(namespace(ns)), gone(web))
}

func (s *site) configMapValue(ns, name string) string {
	s.t.Helper()
	_, o, err := s.client().Read(context.Background(), target.Resource{Version: "v1", Plural: "configmaps"}, ns, name)
	if err != nil {
		s.t.Fatal(err)
	}
	data, _ := o["data"].(map[string]any)
	value, _ := data["value"].(string)
	return value
}
