package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver"
)

// targetStatuses writes the status of a SyncTarget as the center does, or as somebody else would.
type targetStatuses struct {
	t      *testing.T
	client rest.Interface
}

func (s targetStatuses) put(name, uid, version, status string) (*unstructured.Unstructured, error) {
	body := fmt.Sprintf(
		`{"apiVersion":"skerry.dev/v1alpha1","kind":"SyncTarget","metadata":{"name":%q,"uid":%q,"resourceVersion":%q},"status":%s}`,
		name,
		uid,
		version,
		status,
	)
	b, err := s.client.Put().AbsPath(
		"/apis/skerry.dev/v1alpha1/synctargets",
		name,
		"status",
	).SetHeader(
		"Content-Type",
		"application/json",
	).Body(
		[]byte(body),
	).Do(
		s.t.Context(),
	).Raw()
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, json.Unmarshal(b, &out.Object)
}

func statusesOf(t *testing.T, c *rest.Config) targetStatuses {
	client, err := rest.UnversionedRESTClientFor(dynamic.ConfigFor(c))
	must(t, err)
	return targetStatuses{t, client}
}

// aStatus is about what the center says of a connected site.
func aStatus(i int) string {
	condition := `{"type":%q,"status":"True","reason":%q,"message":"the agent has a session over quic, and has durably stored all that is placed on it","lastTransitionTime":"2026-01-02T03:04:00Z"}`
	return fmt.Sprintf(
		`{"lastSeen":"2026-01-02T03:%02d:00Z","agentVersion":"v0.1","kubernetesVersion":"v1.36.3","transport":"quic","appliedRevision":%d,"objects":12,`+
			`"bytesToday":{"date":"2026-01-02","down":1,"up":2,"budgeted":4,"byPurpose":{"control":1,"positions":2,"desired":3,"errors":4,"status":5,"associated":6,"events":7,"streams":9,"transport":8}},`+
			`"identity":{"certificateUntil":"2026-01-02T03:04:00Z","authority":"abcdefgh","bundle":"abcdefgh"},"conditions":[%s,%s]}`,
		i%60,
		i,
		fmt.Sprintf(condition, "Connected", "SessionOpen"),
		fmt.Sprintf(condition, "Synced", "UpToDate"),
	)
}

// A status that the center writes is a write as any other: refused when it is not of what is there
// or not valid, audited, seen by watches; and nothing else of the object is touched.
func TestTheCenterWritesStatusesOfTargets(t *testing.T) {
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	must(
		t,
		os.WriteFile(
			policy,
			[]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n"),
			0o600,
		),
	)
	c := start(
		t,
		t.TempDir(),
		newAuthority(t),
		nil,
		func(c *apiserver.Config) { c.Audit.PolicyFile, c.Audit.LogPath = policy, log },
	)
	ctx, api := t.Context(), dyn(t, c.admin("root")).Resource(syncTargetsGVR)
	is := object("skerry.dev/v1alpha1", "SyncTarget", "", "paris")
	is.SetLabels(map[string]string{"a": "b"})
	is.Object["spec"] = map[string]any{"link": map[string]any{"bytesPerDay": "2048Ki"}}
	is, err := api.Create(ctx, is, metav1.CreateOptions{})
	must(t, err)
	watching, err := api.Watch(ctx, metav1.ListOptions{ResourceVersion: is.GetResourceVersion()})
	must(t, err)
	defer watching.Stop()
	before, err := api.Patch(
		ctx,
		"paris",
		types.MergePatchType,
		[]byte(`{"status":{"transport":"tcp","agentVersion":"old"}}`),
		metav1.PatchOptions{},
		"status",
	)
	must(t, err)
	<-watching.ResultChan()
	inner, version := statusesOf(t, c.api.Loopback("root")), before.GetResourceVersion()

	for _, wrong := range []struct {
		what, name, uid, version, status string
		is                               func(error) bool
	}{
		{"an older version", "paris", string(is.GetUID()), is.GetResourceVersion(), aStatus(1), apierrors.IsConflict},
		{"another object of the name", "paris", "other", version, aStatus(1), apierrors.IsConflict},
		{"no version", "paris", string(is.GetUID()), "", aStatus(1), apierrors.IsBadRequest},
		{"no object", "rome", string(is.GetUID()), version, aStatus(1), apierrors.IsNotFound},
		{"no status", "paris", string(is.GetUID()), version, `"x"`, apierrors.IsBadRequest},
		{"a field of another type", "paris", string(is.GetUID()), version, `{"objects":"many"}`, apierrors.IsBadRequest},
		{
			"a condition without a reason",
			"paris",
			string(is.GetUID()),
			version,
			strings.Replace(aStatus(1), `"SessionOpen"`, `""`, 1),
			apierrors.IsInvalid,
		},
		{
			"a condition twice",
			"paris",
			string(is.GetUID()),
			version,
			strings.Replace(aStatus(1), `"Synced"`, `"Connected"`, 1),
			apierrors.IsInvalid,
		},
	} {
		if _, err := inner.put(wrong.name, wrong.uid, wrong.version, wrong.status); !wrong.is(err) {
			t.Errorf("%s: %v", wrong.what, err)
		}
	}
	outside := statusesOf(t, c.as("root", "jane"))
	if _, err := outside.put("paris", string(is.GetUID()), version, aStatus(1)); !apierrors.IsForbidden(err) {
		t.Errorf("somebody without rights writes a status: %v", err)
	}

	answer, err := inner.put(
		"paris",
		string(is.GetUID()),
		version,
		strings.Replace(aStatus(7), `{`, `{"unknown":1,`, 1),
	)
	must(t, err)
	now, err := api.Get(ctx, "paris", metav1.GetOptions{})
	must(t, err)
	status := now.Object["status"].(map[string]any)
	if now.GetResourceVersion() != answer.GetResourceVersion() || status["agentVersion"] != "v0.1" ||
		status["appliedRevision"] != int64(7) ||
		status["unknown"] != nil ||
		len(status["conditions"].([]any)) != 2 {
		t.Errorf("it answers %v, and there is %v", answer, now)
	}
	if link, _, _ := unstructured.NestedString(now.Object, "spec", "link", "bytesPerDay"); link != "2048Ki" ||
		now.GetLabels()["a"] != "b" ||
		now.GetGeneration() != is.GetGeneration() ||
		now.GetUID() != is.GetUID() {
		t.Errorf("a status changes more than that: %v", now)
	}
	for _, m := range now.GetManagedFields() {
		if m.Subresource == "status" {
			t.Errorf("fields of a status that is written as a whole are managed by %+v", m)
		}
	}
	if e := <-watching.ResultChan(); e.Type != watch.Modified ||
		e.Object.(*unstructured.Unstructured).GetResourceVersion() != now.GetResourceVersion() {
		t.Errorf("a watch is told %v", e)
	}
	within(t, time.Minute, "the lines of the audit log", func() bool {
		b, err := os.ReadFile(log)
		must(t, err)
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, `"subresource":"status"`) && strings.Contains(line, `"verb":"update"`) &&
				strings.Contains(line, `"code":200`) &&
				strings.Count(line, `"appliedRevision":7`) == 2 { // what was asked for, and what is there now
				return true
			}
		}
		return false
	})
}

// What the center has to say of thousands of sites that come back at once costs it a small part of
// what any other write of a custom resource does.
func TestStatusesOfTargetsAreCheap(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	api := dyn(t, c.api.Loopback("root")).Resource(syncTargetsGVR)
	inner := statusesOf(t, c.api.Loopback("root"))
	is, err := api.Create(
		t.Context(),
		object("skerry.dev/v1alpha1", "SyncTarget", "", "paris"),
		metav1.CreateOptions{FieldManager: "skerry"},
	)
	must(t, err)
	patch := bytesOf(func(i int) {
		body := fmt.Sprintf(
			`{"metadata":{"uid":%q,"resourceVersion":%q},"status":%s}`,
			is.GetUID(),
			is.GetResourceVersion(),
			aStatus(i),
		)
		is, err = api.Patch(
			t.Context(),
			"paris",
			types.MergePatchType,
			[]byte(body),
			metav1.PatchOptions{FieldManager: "skerry"},
			"status",
		)
		must(t, err)
	})
	put := bytesOf(func(i int) {
		is, err = inner.put("paris", string(is.GetUID()), is.GetResourceVersion(), aStatus(i))
		must(t, err)
	})
	t.Logf("%d KiB for a patch, %d KiB for a status", patch>>10, put>>10)
	if put > patch/4 {
		t.Errorf("a status costs %d KiB, a patch of it %d KiB", put>>10, patch>>10)
	}
}

// bytesOf is how many bytes the process allocates for one call, of many.
func bytesOf(write func(i int)) uint64 {
	const n = 200
	for i := range n / 4 {
		write(i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range n {
		write(n + i)
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / n
}
