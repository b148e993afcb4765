package lease

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	o := map[string]any{}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestRead(t *testing.T) {
	const claims = `{"spec":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"data"}},
		{"name":"b","persistentVolumeClaim":{"claimName":"read","readOnly":true}},{"name":"c","emptyDir":{}}]}}`
	for name, c := range map[string]struct {
		group, resource, body string
		once                  bool
		claims                []string
		stop                  time.Duration
	}{
		"a StatefulSet": {"apps", "statefulsets", `{"spec":{}}`, true, nil, 30 * time.Second},
		"its Pods stop one after the other": {"apps", "statefulsets",
			`{"spec":{"replicas":3,"template":{"spec":{"terminationGracePeriodSeconds":10}}}}`, true, nil, 30 * time.Second},
		"its Pods stop all at once": {"apps", "statefulsets", `{"spec":{"replicas":3,"podManagementPolicy":"Parallel",
			"template":{"spec":{"terminationGracePeriodSeconds":10}}}}`, true, nil, 10 * time.Second},
		"a StatefulSet with no replicas": {"apps", "statefulsets", `{"spec":{"replicas":0}}`, true, nil, 30 * time.Second},
		"a StatefulSet that is duplicated": {"apps", "statefulsets",
			`{"metadata":{"annotations":{"skerry.dev/replicas":"Duplicated"}},"spec":{}}`, false, nil, 30 * time.Second},
		"a Job":        {"batch", "jobs", `{"spec":{}}`, true, nil, 30 * time.Second},
		"a Deployment": {"apps", "deployments", `{"spec":{"replicas":3}}`, false, nil, 30 * time.Second},
		"a Deployment that its Placement moves break first": {"apps", "deployments",
			`{"metadata":{"annotations":{"skerry.dev/runs-once":"true"}},"spec":{}}`, true, nil, 30 * time.Second},
		"a Deployment with claims": {"apps", "deployments", `{"spec":{"template":` + claims + `}}`, false,
			[]string{"data"}, 30 * time.Second},
		"a Pod with claims": {"", "pods", claims, false, []string{"data"}, 30 * time.Second},
		"a CronJob": {"batch", "cronjobs", `{"spec":{"jobTemplate":{"spec":{"template":{"spec":
			{"terminationGracePeriodSeconds":0}}}}}}`, true, nil, 0},
		"a grace that is too long": {"", "pods", `{"spec":{"terminationGracePeriodSeconds":99999999999}}`, false, nil,
			24 * time.Hour},
		"nonsense": {"apps", "statefulsets", `{"spec":{"replicas":"x","template":[]},"metadata":7}`, true, nil,
			30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w, ok := Read(store.Key{Group: c.group, Resource: c.resource}, parse(t, c.body))
			if !ok || w.Once != c.once || !slices.Equal(w.Claims, c.claims) || w.StopTime != c.stop {
				t.Errorf("%+v, %v", w, ok)
			}
		})
	}
	if _, ok := Read(store.Key{Group: "apps", Resource: "daemonsets"}, nil); ok {
		t.Error("a DaemonSet may run once")
	}
}

func TestShared(t *testing.T) {
	for body, want := range map[string]bool{
		`{"spec":{"accessModes":["ReadWriteOnce"]}}`: false, `{"spec":{"accessModes":["ReadWriteMany"]}}`: true,
		`{"spec":{"accessModes":["ReadWriteOncePod"]}}`: false, `{}`: false,
		`{"spec":{"accessModes":["ReadWriteOnce","ReadOnlyMany"]}}`: true,
	} {
		if got := Shared(parse(t, body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestStopped(t *testing.T) {
	k := store.Key{Group: "apps", Resource: "statefulsets"}
	body, err := Stopped(k, []byte(`{"kind":"StatefulSet","spec":{"replicas":3,"serviceName":"db"}}`))
	if err != nil || string(body) != `{"kind":"StatefulSet","spec":{"replicas":0,"serviceName":"db"}}` {
		t.Errorf("%s, %v", body, err)
	}
	k = store.Key{Group: "batch", Resource: "jobs"}
	if body, err := Stopped(k, []byte(`{"kind":"Job"}`)); err != nil || string(body) != `{"kind":"Job","spec":{"suspend":true}}` {
		t.Errorf("%s, %v", body, err)
	}
	for _, bad := range []string{`[]`, `{"spec":[]}`} {
		if _, err := Stopped(k, []byte(bad)); err == nil {
			t.Errorf("%s is stopped", bad)
		}
	}
	if _, err := Stopped(store.Key{Resource: "pods"}, nil); !errors.Is(err, ErrNotHere) {
		t.Errorf("a Pod: %v", err)
	}
}

func TestRenewal(t *testing.T) {
	for terms, want := range map[Terms]time.Duration{
		{}: 0, {Duration: time.Hour}: 0, {Duration: 30 * time.Second, Stop: true}: 5 * time.Second,
		{Duration: 24 * time.Hour, Stop: true}: 10 * time.Minute, {Duration: time.Second, Stop: true}: time.Second,
	} {
		if got := terms.Renewal(); got != want {
			t.Errorf("%+v every %v, want %v", terms, got, want)
		}
	}
}
