package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBundles(t *testing.T) {
	dir := tree(t, map[string]string{
		"app/Chart.yaml":                  "name: app",
		"app.settings.yaml":               "limit: 5s\nvalues: {replicas: 2}\n",
		"built/base/config.yml":           "kind: ConfigMap",
		"built/over/kustomization.yaml":   "resources: [../base]",
		"built.settings.yaml":             "path: over\n",
		"plain/deep/one.yaml":             "kind: Service",
		"plain/README.md":                 "not a manifest",
		"single.yaml":                     "kind: Pod",
		"elsewhere.settings.yaml":         "declared: [{object: Pod/x, path: spec, reason: why}]",
		"plain/deep/templates/notes.text": "",
	})
	if err := os.Symlink(filepath.Join(dir, "plain"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	units, err := LoadBundles(dir, filepath.Join(dir, "none.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range units {
		got = append(got, u.Name+" "+string(u.bundle.form)+" "+u.limit.String())
	}
	want := []string{"app chart 5s", "built kustomization 1m0s", "elsewhere manifests 1m0s", "plain manifests 1m0s",
		"single manifests 1m0s"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestADirectoryWithoutManifestsIsNoBundle(t *testing.T) {
	dir := tree(t, map[string]string{"app/README.md": "nothing"})
	if _, err := LoadBundles(dir); err == nil || !strings.Contains(err.Error(), "neither a Chart.yaml") {
		t.Error(err)
	}
}

// A password that a chart makes up is another one at each rendering, and so is the checksum of it in a template:
// both sides have their own, and their Pods, too.
func TestWhatAChartMakesUpMeansNothing(t *testing.T) {
	rendered := func(password, sum string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {password: " + password + ", user: app}\n---\n" +
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: db}\n" +
			"spec: {template: {metadata: {annotations: {checksum/secret: " + sum + "}}}}\n"
	}
	paths, err := madeUp(rendered("b25l", "one"), rendered("dHdv", "two"))
	if err != nil {
		t.Fatal(err)
	}
	u := Unit{madeUp: paths}
	left := u.meaningful([]difference{
		{object: "Secret/db", path: "data.password"}, {object: "Secret/db", path: "data.user"},
		{object: "Deployment/db", path: "spec.template.metadata.annotations.checksum/secret"},
		{object: "Pod/db-*", path: "metadata.annotations.checksum/secret"}})
	if len(left) != 1 || left[0].path != "data.user" {
		t.Errorf("%v", left)
	}
}

func TestObjectsOfAManifest(t *testing.T) {
	ids, err := identities("# a comment\n---\n" +
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: other}}\n" +
		"--- # the next\napiVersion: v1\nkind: Namespace\nmetadata: {name: mine}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  text: |\n    ---\n    b\n")
	if err != nil || len(ids) != 3 {
		t.Fatalf("%v %v", ids, err)
	}
	if named, made := namespacesOf(ids); !slices.Equal(named, []string{"mine", "other"}) ||
		!slices.Equal(made, []string{"mine"}) {
		t.Errorf("%v %v", named, made)
	}
}

func TestWhatBothSidesSayIsJudged(t *testing.T) {
	refused := func(text string) answer { return answer{failed: true, stderr: text} }
	for name, c := range map[string]struct {
		cluster, space answer
		path           string
	}{
		"one refuses":            {answer{}, refused("Error: no"), "exit"},
		"both refuse alike":      {refused("Error: no"), refused("Warning: a space\nError: no"), ""},
		"both refuse, not alike": {refused("Error: no"), refused("Error: never"), "stderr"},
		"another output":         {answer{stdout: "x unchanged"}, answer{stdout: "x configured"}, "stdout"},
	} {
		i := installation{unit: &Unit{}}
		got := i.judge("install", c.cluster, c.space, true)
		if c.path == "" && len(got) != 0 || c.path != "" && (len(got) != 1 || got[0].path != c.path) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An image that is nowhere makes a container wait for two reasons by turns.
func TestAMissingImageIsOneState(t *testing.T) {
	waits := func(reason string) object {
		return object{"kind": "Pod", "metadata": map[string]any{"name": "web"},
			"status": map[string]any{"waiting": map[string]any{"reason": reason, "message": reason}}}
	}
	for reason, differences := range map[string]int{"ImagePullBackOff": 0, "CreateContainerError": 2} {
		if _, d := compare([]object{waits("ErrImagePull")}, []object{waits(reason)}); len(d) != differences {
			t.Errorf("%s: %v", reason, d)
		}
	}
}

func TestADifferenceOfOneStep(t *testing.T) {
	u := Unit{declared: []declared{{Object: "PersistentVolumeClaim/*", Path: "*", Step: "remove", Reason: "why"}}}
	for step, want := range map[string]string{"remove": "why", "install": ""} {
		if got := u.declares(difference{object: "PersistentVolumeClaim/a", path: "*", step: step}); got != want {
			t.Errorf("%s: %q", step, got)
		}
	}
}

// Two bundles that define one group are installed one after the other.
func TestBundlesThatShareAGroupWaitForEachOther(t *testing.T) {
	definition := []identity{{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
		name: "as.example.com"}}
	user := []identity{{apiVersion: "example.com/v1", kind: "A", name: "one"}, {apiVersion: "v1", kind: "Pod", name: "p"}}
	other := []identity{{apiVersion: "v1", kind: "Secret", namespace: "kube-system", name: "s"}}
	c := newClaims()
	release := c.take(sharedNames(definition))
	c.take(sharedNames(other))()
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		c.take(sharedNames(user))()
	}()
	select {
	case <-taken:
		t.Fatal("both have the group at once")
	case <-time.After(50 * time.Millisecond):
	}
	release()
	<-taken
}
