package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func pod(name, generated, ip, phase string) object {
	return object{"kind": "Pod", "metadata": map[string]any{"name": name, "generateName": generated, "uid": ip},
		"status": map[string]any{"phase": phase, "podIP": ip, "startTime": "2026-01-02T03:04:05Z", "conditions": []any{
			map[string]any{"type": "skerry.dev/Reachable", "status": "True"},
			map[string]any{"type": "Ready", "status": "True"}}}}
}

func TestWhatBelongsToOneClusterMakesNoDifference(t *testing.T) {
	const long = "vpa-vertical-pod-autoscaler-admission-controller-"
	cluster := []object{pod("web-5d4f8c7b9d-x2x4z", "web-5d4f8c7b9d-", "10.0.0.1", "Running"),
		pod("web-5d4f8c7b9d-b7b7b", "web-5d4f8c7b9d-", "10.0.0.2", "Pending"),
		pod(long+"875cffc8dglhkp", long+"875cffc8d-", "10.0.0.3", "Running")} // cut to 63 characters
	space := []object{pod("web-6d4f8c7b9d-q2x4z", "web-6d4f8c7b9d-", "10.9.0.1", "Pending"),
		pod("web-6d4f8c7b9d-c7b7b", "web-6d4f8c7b9d-", "10.9.0.2", "Running"),
		pod(long+"769d6dc9c2svrw", long+"769d6dc9c-", "10.9.0.3", "Running")}
	if n, d := compare(cluster, space); n.objects != 3 || n.statuses != 3 || len(d) != 0 {
		t.Errorf("%+v compared, differences %v", n, d)
	}
}

// A Pod whose template has matchLabelKeys selects the Pods of its own template's hash.
func TestTheHashThatAPodSelectsIsOfOneCluster(t *testing.T) {
	spread := func(hash string) []object {
		p := pod("web", "", "10.0.0.1", "Running")
		p["spec"] = map[string]any{"topologySpreadConstraints": []any{map[string]any{"labelSelector": map[string]any{
			"matchExpressions": []any{map[string]any{"key": "pod-template-hash", "values": []any{hash}}}}}}}
		return []object{p}
	}
	if _, d := compare(spread("596b984ff9"), spread("74b6994cc5")); len(d) != 0 {
		t.Errorf("%v", d)
	}
	if _, d := compare(spread("596b984ff9"), []object{pod("web", "", "10.0.0.1", "Running")}); len(d) == 0 {
		t.Error("a Pod that selects nothing")
	}
}

func TestDifferencesAreFound(t *testing.T) {
	one := pod("web", "", "10.0.0.1", "Running")
	for name, space := range map[string][]object{
		"Pod/web status.phase": {pod("web", "", "10.0.0.2", "Failed")},
		"Pod/web *":            nil,
		"Pod/web status.conditions[Ready].message": {withCondition(pod("web", "", "10.0.0.2", "Running"), "message", "no")},
		"Pod/web status.podIP":                     {without(pod("web", "", "10.0.0.2", "Running"), "podIP")},
		"Pod/web status.startTime":                 {without(pod("web", "", "10.0.0.2", "Running"), "startTime")},
	} {
		_, d := compare([]object{one}, space)
		if len(d) != 1 || d[0].object+" "+d[0].path != name {
			t.Errorf("want %s: %v", name, d)
		}
	}
}

// A token belongs to the API that issues it; the token of a Secret of another type is the user's.
func TestTokensOfAccountsAreNotCompared(t *testing.T) {
	secret := func(kind, token string) []object {
		return []object{{"kind": "Secret", "metadata": map[string]any{"name": "robot"}, "type": kind,
			"data": map[string]any{"token": token}}}
	}
	const account = "kubernetes.io/service-account-token"
	if _, d := compare(secret(account, "b25l"), secret(account, "dHdv")); len(d) != 0 {
		t.Errorf("the tokens of accounts are compared: %v", d)
	}
	if _, d := compare(secret(account, "b25l"), secret(account, "")); len(d) != 1 {
		t.Errorf("an account without a token: %v", d)
	}
	if _, d := compare(secret("Opaque", "b25l"), secret("Opaque", "dHdv")); len(d) != 1 {
		t.Errorf("the tokens of a user: %v", d)
	}
}

// That a Service is headless is no address of one cluster, and neither is how many addresses it has.
func TestWhatIsThereIsCompared(t *testing.T) {
	service := func(ips ...any) object {
		return object{"kind": "Service", "metadata": map[string]any{"name": "web"},
			"spec": map[string]any{"clusterIP": ips[0], "clusterIPs": ips}}
	}
	for _, c := range []struct {
		cluster, space object
		differences    int
	}{
		{service("10.0.0.1"), service("10.0.0.2"), 0},
		{service("None"), service("None"), 0},
		{service("None"), service("10.0.0.2"), 2},
		{service("10.0.0.1", "fd00::1"), service("10.0.0.2"), 1},
	} {
		if _, d := compare([]object{c.cluster}, []object{c.space}); len(d) != c.differences {
			t.Errorf("%v and %v: %v", c.cluster, c.space, d)
		}
	}
}

func TestTheOrderOfEndpointsMeansNothing(t *testing.T) {
	slice := func(hosts ...string) object {
		var endpoints []any
		for _, h := range hosts {
			endpoints = append(endpoints, map[string]any{"hostname": h})
		}
		return object{"kind": "EndpointSlice", "metadata": map[string]any{"name": "db"}, "endpoints": endpoints}
	}
	if _, d := compare([]object{slice("db-0", "db-1")}, []object{slice("db-1", "db-0")}); len(d) != 0 {
		t.Errorf("differences %v", d)
	}
	pods := func(names ...string) []object {
		var endpoints []any
		for _, n := range names {
			endpoints = append(endpoints, map[string]any{"targetRef": map[string]any{"kind": "Pod", "name": n}})
		}
		return []object{{"kind": "EndpointSlice", "metadata": map[string]any{"name": "db"}, "endpoints": endpoints}}
	}
	if _, d := compare(pods("db-0", "db-1"), pods("db-1", "db-0")); len(d) != 0 {
		t.Errorf("Pods of a StatefulSet behind an address of the cluster: %v", d)
	}
	web := pods("web-5d4f8c7b9d-x2x4z", "web-5d4f8c7b9d-b7b7b")
	if _, d := compare(web, pods("web-5d4f8c7b9d-x2x4z")); len(d) != 2 {
		t.Errorf("one of two Pods with generated names is missing: %v", d)
	}
}

func TestSummary(t *testing.T) {
	var s summary
	declaredOne := difference{object: "Pod/a", path: "spec.x", reason: "why"}
	s.add(&result{unit: "equal", compared: tally{3, 2}})
	s.add(&result{unit: "declared", compared: tally{2, 1}, differences: []difference{declaredOne, declaredOne}})
	s.add(&result{unit: "open", compared: tally{2, 2}, unused: []declared{{Object: "Pod/*", Path: "x", Reason: "why"}},
		differences: []difference{declaredOne, {object: "Pod/a", path: "status.phase"}}})
	s.add(&result{unit: "broken", err: ErrDifferent})
	if s.Units != 4 || s.EqualUnits != 1 || s.DeclaredUnits != 1 || s.Objects != 7 || s.EqualObjects != 5 ||
		s.DeclaredObjects != 1 ||
		s.Statuses != 5 || s.EqualStatuses != 4 || s.Declared != 3 || len(s.Differences) != 1 ||
		len(s.Broken) != 1 || len(s.Unused) != 1 {
		t.Errorf("%+v", s)
	}
}

func withCondition(o object, key, value string) object {
	o.at("status").(map[string]any)["conditions"].([]any)[1].(map[string]any)[key] = value
	return o
}

func without(o object, key string) object {
	delete(o.at("status").(map[string]any), key)
	return o
}

func TestDeclared(t *testing.T) {
	u := Unit{declared: []declared{{Object: "Pod/web-*", Path: "spec.*token-*", Reason: "why"}}}
	for _, c := range []struct {
		object, path string
		want         bool
	}{
		{"Pod/web-1", "spec.volumes[token-1].name", true},
		{"Pod/db-1", "spec.volumes[token-1].name", false},
		{"Pod/web-1", "status.token-1", false},
		{"Pod/web-1", "spec.volumes[data].name", false},
	} {
		if got := u.declares(difference{object: c.object, path: c.path}) != ""; got != c.want {
			t.Errorf("%s %s: declared %v", c.object, c.path, got)
		}
	}
}

func TestLinesAreSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"kubectl get pods":                   {"kubectl", "get", "pods"},
		`kubectl patch x -p '{"a": "b c"}'`:  {"kubectl", "patch", "x", "-p", `{"a": "b c"}`},
		"kubectl get -o jsonpath='{.a b}' x": {"kubectl", "get", "-o", "jsonpath={.a b}", "x"},
		"a 'b'c d":                           {"a", "bc", "d"},
	} {
		if got := split(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestUnits loads the corpus as it is kept: every step has a verb, every manifest can be read, and
// every line names a program.
func TestUnits(t *testing.T) {
	units, err := Load("units")
	if err != nil {
		t.Fatal(err)
	}
	if len(units) < 120 {
		t.Errorf("the corpus has %d constructs, fewer than 120", len(units))
	}
	r := &run{}
	for i := range units {
		u := &units[i]
		for _, step := range u.steps {
			text, err := r.manifest(u, step)
			if err != nil {
				t.Fatal(err)
			}
			if verb, _ := verbOf(step); verb != "run" {
				if ids, err := identities(text); err != nil || len(ids) == 0 {
					t.Errorf("%s/%s: %d objects, %v", u.Name, step, len(ids), err)
				}
				continue
			}
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				if _, err := r.parse(line); err != nil {
					t.Errorf("%s/%s: %v", u.Name, step, err)
				}
			}
		}
	}
}

func TestBadUnitsAreRefused(t *testing.T) {
	for file, want := range map[string]string{
		"1.appply.yaml": "want N.apply.yaml",
		"unit.yaml":     "no steps",
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "one"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "one", file), []byte("limit: 1s\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
