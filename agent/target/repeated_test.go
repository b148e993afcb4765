package target

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const repeats = `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
	"spec": {"template": {"spec": {"containers": [
		{"name": "app", "ports": [{"name": "http", "containerPort": 80}, {"name": "metrics", "containerPort": 80},
			{"name": "dns", "containerPort": 80, "protocol": "UDP"}]},
		{"name": "other", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}]}]}}}}`

func textual(t *testing.T, text string) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// What is taken off comes back, beside what the target has added.
func TestRepeatedElementsAreTakenOffAndPutBack(t *testing.T) {
	o, again := textual(t, repeats), textual(t, repeats)
	lists := takeRepeated(o)
	if len(lists) != 2 || len(takeRepeated(o)) != 0 {
		t.Fatalf("taken off: %v, left: %v", lists, o)
	}
	text, _ := json.Marshal(o)
	if strings.Contains(string(text), "metrics") || !strings.Contains(string(text), "dns") {
		t.Errorf("left: %s", text)
	}
	containers := mapAt(o, []string{"spec", "template", "spec"})["containers"].([]any)
	app := containers[0].(map[string]any)
	app["ports"] = append(app["ports"].([]any), map[string]any{"name": "mesh", "containerPort": 15001.0})
	putRepeated(o, lists)
	if ports := app["ports"].([]any); len(ports) != 4 || ports[3].(map[string]any)["name"] != "mesh" {
		t.Errorf("ports: %v", ports)
	}
	app["ports"] = app["ports"].([]any)[:3]
	if !reflect.DeepEqual(o, again) {
		t.Errorf("put back: %v", o)
	}
	if plain := textual(t, `{"spec": {"containers": [{"ports": [{"containerPort": 1}, {"containerPort": 2}]}]}}`); takeRepeated(plain) != nil {
		t.Error("nothing is there twice")
	}
}

// refusing is an API server that takes no list by server-side apply that has something twice.
type refusing struct {
	t       *testing.T
	exists  bool
	steps   []string
	written map[string]any
	busy    int // how often somebody else is faster
}

func (f *refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	kind := r.Header.Get("Content-Type")
	answer := func(code int, o any) {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(o)
	}
	code := http.StatusCreated
	if f.exists {
		code = http.StatusOK
	}
	applied := []any{map[string]any{"manager": FieldManager, "operation": "Apply", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}}
	switch {
	case kind == applyType && strings.Contains(string(body), "metrics"):
		f.steps = append(f.steps, "refused")
		answer(http.StatusInternalServerError, map[string]any{"kind": "Status", "code": 500, "status": "Failure",
			"message": `failed to create typed patch object: .ports: duplicate entries for key [containerPort=80,protocol="TCP"]`})
	case kind == applyType:
		f.steps = append(f.steps, "apply dryRun="+r.URL.Query().Get("dryRun"))
		o := textual(f.t, string(body))
		metadata := o["metadata"].(map[string]any)
		metadata["uid"], metadata["resourceVersion"], metadata["managedFields"] = "u", "7", applied
		answer(code, o)
	case r.Method == http.MethodPost:
		f.steps = append(f.steps, "create")
		f.written = textual(f.t, string(body))
		metadata := f.written["metadata"].(map[string]any)
		if metadata["uid"] != nil || metadata["resourceVersion"] != nil || metadata["managedFields"] != nil {
			f.t.Errorf("created with %v", metadata)
		}
		metadata["resourceVersion"] = "8"
		metadata["managedFields"] = []any{map[string]any{"manager": FieldManager, "operation": "Update"}, map[string]any{"manager": "hpa"}}
		answer(http.StatusCreated, f.written)
	case kind == patchType && strings.Contains(string(body), `"/metadata/managedFields"`):
		if f.busy > 0 {
			f.busy--
			f.steps = append(f.steps, "busy")
			answer(http.StatusConflict, map[string]any{"kind": "Status", "code": 409, "reason": "Conflict", "status": "Failure"})
			return
		}
		f.steps = append(f.steps, "own")
		var steps []struct{ Value any }
		_ = json.Unmarshal(body, &steps)
		if all := steps[0].Value.([]any); !slices.ContainsFunc(all, func(e any) bool { return reflect.DeepEqual(e, applied[0]) }) ||
			strings.Contains(string(body), `"Update"`) {
			f.t.Errorf("the fields are owned as %s", body)
		}
		answer(http.StatusOK, f.written)
	case kind == patchType:
		f.steps = append(f.steps, "replace")
		var steps []struct {
			Path  string
			Value map[string]any
		}
		if err := json.Unmarshal(body, &steps); err != nil || len(steps) != 1 || steps[0].Path != "" {
			f.t.Errorf("replaced by %s", body)
		}
		if f.written = steps[0].Value; f.written["metadata"].(map[string]any)["resourceVersion"] != "7" {
			f.t.Errorf("replaced without a condition: %s", body)
		}
		answer(http.StatusOK, f.written)
	case r.Method == http.MethodGet:
		f.steps = append(f.steps, "read")
		answer(http.StatusOK, f.written)
	}
}

func TestWhatRepeatsIsWrittenAsItIs(t *testing.T) {
	for name, test := range map[string]struct {
		exists bool
		busy   int
		steps  string
	}{
		"made":    {false, 0, "refused, apply dryRun=All, create, own"},
		"changed": {true, 0, "refused, apply dryRun=All, replace, own"},
		"busy":    {false, 2, "refused, apply dryRun=All, create, busy, read, busy, read, own"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &refusing{t: t, exists: test.exists, busy: test.busy}
			server := httptest.NewServer(f)
			defer server.Close()
			c, err := newClient(View{Config: &rest.Config{Host: server.URL}}, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			on := Applying{Unmarked: true}
			if test.exists {
				on.UID = "u"
			}
			r := Resource{"apps", "v1", "deployments"}
			_, created, _, err := c.ApplyCompared(t.Context(), r, "shop", "web", []byte(repeats), on)
			if err != nil || created == test.exists {
				t.Fatal(created, err)
			}
			if got := strings.Join(f.steps, ", "); got != test.steps {
				t.Errorf("got  %s\nwant %s", got, test.steps)
			}
			if !reflect.DeepEqual(f.written["spec"], textual(t, repeats)["spec"]) {
				t.Errorf("written: %v", f.written["spec"])
			}
		})
	}
}

// Where nothing is there twice that can be written otherwise, the refusal stays.
func TestAnotherRepetitionStaysRefused(t *testing.T) {
	f := &refusing{t: t}
	server := httptest.NewServer(f)
	defer server.Close()
	c, err := newClient(View{Config: &rest.Config{Host: server.URL}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"metadata": {"name": "metrics"}}`)
	_, err = c.WouldAnswer(t.Context(), Resource{"apps", "v1", "deployments"}, "shop", "metrics", body, "u")
	if !refusesRepeated(err) {
		t.Error(err)
	}
}
