package failpoint

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// Every place at which a process is killed: around each commit, acknowledgement and write.
var places = []struct{ process, point string }{
	{"agent", "receivedBeforeCommit"},
	{"agent", "startedBeforeCommit"},
	{"agent", "committedBeforeAck"},
	{"agent", "acknowledged"},
	{"agent", "beforeTargetWrite"},
	{"agent", "writtenBeforeRecord"},
	{"agent", "beforeTargetDelete"},
	{"agent", "deletedBeforeRecord"},
	{"agent", "beforeForget"},
	{"agent", "inventoryBeforeForget"},
	{"agent", "beforeInventoryWrite"},
	{"agent", "encodedBeforeSend"},
	{"center", "encodedBeforeSend"},
	{"center", "receivedBeforeCommit"},
	{"center", "committedBeforeAck"},
	{"center", "acknowledged"},
	{"center", "beforeStatusWrite"},
	{"center", "beforeDecision"},
	{"center", "decidedBeforeFeed"},
	{"center", "beforePlacementDecision"},
	{"center", "beforeCohortCut"},
	{"center", "cohortCutBeforeStep"},
	{"center", "beforeCohortStep"},
	{"center", "cohortStepBeforeStamp"},
	{"center", "beforeAnnotation"},
	{"center", "annotatedBeforeForget"},
}

// TestKilledEverywhere makes a namespace, objects, a change and a deletion, and has an object pass
// from its namespace to a Placement. It kills the process that comes to the place, and holds that
// everything arrives exactly once all the same and that nothing else is touched.
func TestKilledEverywhere(t *testing.T) {
	if os.Getenv("SKERRY_SCENARIOS") != "1" {
		t.Skip("this test starts a cluster: run it with SKERRY_SCENARIOS=1 (make scenarios)")
	}
	ctx := t.Context()
	s := start(ctx, t)
	for i, p := range places {
		t.Run(p.process+"/"+p.point, func(t *testing.T) { s.round(ctx, t, fmt.Sprintf("round-%d", i), p.process, p.point) })
	}
}

// round kills once. What it made stays: deleting a namespace takes the target ten seconds.
func (s *site) round(ctx context.Context, t *testing.T, ns, process, point string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	maps, apps := "/api/v1/namespaces/"+ns+"/configmaps", "/apis/apps/v1/namespaces/"+ns+"/deployments"
	must(t, s.space.Create(ctx, "/api/v1/namespaces", namespace(ns, "site")))
	// Nothing carries this name, so the namespace is nowhere before its label is changed.
	must(t, s.space.Create(ctx, "/api/v1/namespaces", namespace(ns+"-new", "nowhere")))
	for _, name := range []string{"stays", "changes", "goes", "passes"} {
		must(t, s.space.Create(ctx, maps, configMap(name, "1")))
	}
	for _, name := range []string{"stays", "changes", "goes", "passes"} {
		must(t, s.arrives(ctx, maps+"/"+name, "1"))
	}
	j, err := follow(ctx, s.edge, maps)
	must(t, err)
	must(t, s.points[process].arm(ctx, point))

	must(t, s.space.MergePatch(ctx, "/api/v1/namespaces/"+ns+"-new", namespace(ns+"-new", "site")))
	must(t, s.space.Create(ctx, "/apis/skerry.dev/v1alpha1/placements", placement(ns)))
	must(t, s.space.Create(ctx, maps, configMap("comes", "1")))
	must(t, s.space.Create(ctx, apps, deployment("app")))
	must(t, s.space.MergePatch(ctx, maps+"/changes", configMap("changes", "2")))
	_, err = s.space.Do(ctx, http.MethodDelete, maps+"/goes", "", nil)
	must(t, err)
	must(t, s.space.Create(ctx, "/api/v1/namespaces/"+ns+"-new/configmaps", configMap("first", "1")))
	must(t, s.points[process].reached(ctx, point, 15*time.Second))
	must(t, s.kill(ctx, process))

	must(t, s.arrives(ctx, maps+"/comes", "1"))
	must(t, s.arrives(ctx, maps+"/changes", "2"))
	must(t, s.arrives(ctx, "/api/v1/namespaces/"+ns+"-new/configmaps/first", "1"))
	must(t, s.goes(ctx, maps+"/goes"))
	must(t, drive.Until(ctx, arrival, "the space shows the status", func(ctx context.Context) error {
		o, err := get(ctx, s.space, apps+"/app")
		if err != nil {
			return err
		}
		if status, _ := o["status"].(object); fmt.Sprint(status["availableReplicas"]) != "2" {
			return fmt.Errorf("status %v", status)
		}
		return nil
	}))
	for name, want := range map[string]string{"comes": "1 0 0", "changes": "0 1 0", "goes": "0 0 1", "stays": "0 0 0",
		"passes": "0 1 0" /* its origin names the Placement */} {
		if got := j.of(name); got != want {
			t.Errorf("%s was written (added modified deleted) %s, want %s", name, got, want)
		}
	}
}

// arrival is how long a change may take to arrive when a process was killed meanwhile: the agent
// may sleep through a center's restart until its next ping, 20 s later.
const arrival = 40 * time.Second

func (s *site) arrives(ctx context.Context, path, value string) error {
	return drive.Until(ctx, arrival, path+" arrives at the target", func(ctx context.Context) error {
		o, err := get(ctx, s.edge, path)
		if err != nil {
			return err
		}
		if data, _ := o["data"].(object); data["value"] != value {
			return fmt.Errorf("it holds %v", data)
		}
		return nil
	})
}

func (s *site) goes(ctx context.Context, path string) error {
	return drive.Until(ctx, arrival, path+" goes from the target", func(ctx context.Context) error {
		o, err := get(ctx, s.edge, path)
		if err == nil && o != nil {
			err = fmt.Errorf("it is still there")
		}
		return err
	})
}

func namespace(name, target string) object {
	return object{"apiVersion": "v1", "kind": "Namespace",
		"metadata": object{"name": name, "labels": object{"skerry.dev/target": target}}}
}

func placement(ns string) object {
	return object{"apiVersion": "skerry.dev/v1alpha1", "kind": "Placement", "metadata": object{"name": ns}, "spec": object{
		"objects": []any{object{"namespaces": []any{ns}, "names": []any{"comes", "passes"}}},
		"targets": object{"names": []any{"site"}}}}
}

func configMap(name, value string) object {
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name},
		"data": object{"value": value}}
}

func deployment(name string) object {
	labels := object{"app": name}
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name},
		"spec": object{"replicas": 2,
			"selector": object{"matchLabels": labels}, "template": object{"metadata": object{"labels": labels},
				"spec": object{"containers": []any{object{"name": "app", "image": "registry.example.com/app:1"}}}}}}
}
