package summary

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// merged is the status of what targets report of copies, where an empty one has not reported.
func merged(t *testing.T, k store.Key, statuses ...string) map[string]any {
	t.Helper()
	return mergedAs(t, k, Copies, statuses...)
}

func mergedAs(t *testing.T, k store.Key, d Division, statuses ...string) map[string]any {
	t.Helper()
	at := placement.Located{Key: k, Divided: bool(d), Targets: []string{"rome", "oslo", "bern"}[:len(statuses)]}
	var reports []*store.Report
	for _, s := range statuses {
		if s == "" {
			reports = append(reports, nil)
			continue
		}
		reports = append(reports, &store.Report{Status: []byte(s)})
	}
	is, err := mergeAll(at, reports)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// A definition says which value is good of conditions of its kind, and what is Kubernetes' own stays.
func TestADefinitionSaysWhatIsGood(t *testing.T) {
	good, err := placement.ParseGoodConditions("Healthy=True,OutOfSync=False,Stalled=True," + v1alpha1.ConditionObjectSynced + "=False")
	if err != nil {
		t.Fatal(err)
	}
	at := placement.Located{Key: key("example.org", "widgets", "w"), Targets: []string{"rome", "oslo"}, Conditions: good}
	is, err := mergeAll(at, []*store.Report{
		{Status: []byte(conditions("Healthy=True", "OutOfSync=False", "Stalled=True", "Odd=True", v1alpha1.ConditionObjectSynced+"=True"))},
		{Status: []byte(conditions("Healthy=False", "OutOfSync=True", "Stalled=False", "Odd=False", v1alpha1.ConditionObjectSynced+"=False"))}})
	if err != nil {
		t.Fatal(err)
	}
	want := "Healthy=False Odd=Unknown OutOfSync=True Stalled=False " + v1alpha1.ConditionObjectSynced + "=False"
	if got := told(is); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func conditions(list ...string) string {
	var all []string
	for _, c := range list {
		kind, status, _ := strings.Cut(c, "=")
		all = append(all, `{"type":"`+kind+`","status":"`+status+`","reason":"R"}`)
	}
	return `{"conditions":[` + strings.Join(all, ",") + `]}`
}

// told is what a merged status says of its conditions.
func told(status map[string]any) string {
	var all []string
	for _, one := range status["conditions"].([]any) {
		c := one.(map[string]any)
		all = append(all, c["type"].(string)+"="+c["status"].(string))
	}
	return strings.Join(all, " ")
}

func TestTheWorseOfAConditionIsShown(t *testing.T) {
	budget, widget := key("policy", "poddisruptionbudgets", "pdb"), key("example.org", "widgets", "w")
	for _, c := range []struct {
		name string
		key  store.Key
		a, b string
		want string
	}{
		{"a budget that allows no disruption", budget, "DisruptionAllowed=True", "DisruptionAllowed=False",
			"DisruptionAllowed=False"},
		{"a Pod that is disrupted", key("", "pods", "p"), "DisruptionTarget=True", "DisruptionTarget=False",
			"DisruptionTarget=True"},
		{"a claim that cannot be grown", key("", "persistentvolumeclaims", "c"), "ControllerResizeError=False",
			"ControllerResizeError=True", "ControllerResizeError=True"},
		{"what kstatus reads", widget, "Ready=True", "Ready=False", "Ready=False"},
		{"what kstatus reads of progress", widget, "Reconciling=False", "Reconciling=True", "Reconciling=True"},
		{"what nobody has said", widget, "Unhealthy=False", "Unhealthy=True", "Unhealthy=Unknown"},
		{"a word is no polarity", widget, "ErrorsHandled=True", "ErrorsHandled=False", "ErrorsHandled=Unknown"},
		{"what nobody has said and all say", widget, "OutOfSync=True", "OutOfSync=True", "OutOfSync=True"},
		{"a type that a built-in kind does not have", budget, "Odd=True", "Odd=False", "Odd=Unknown"},
	} {
		for _, pair := range [][]string{{c.a, c.b}, {c.b, c.a}} {
			if is := told(merged(t, c.key, conditions(pair[0]), conditions(pair[1]))); is != c.want {
				t.Errorf("%s: %v: %s, want %s", c.name, pair, is, c.want)
			}
		}
	}
}

func TestTargetsThatDifferAreNamed(t *testing.T) {
	is := merged(t, key("example.org", "widgets", "w"), conditions("Unhealthy=False"), "", conditions("Unhealthy=True"))
	c := is["conditions"].([]any)[0].(map[string]any)
	if c["reason"] != differs || c["message"] != "True on bern, False on rome, not told on oslo" {
		t.Errorf("%v", c)
	}
}

// TestAJobHasEndedWhereItHasOnAllTargets: a terminal condition never goes, and the Job's ttl begins with it.
func TestAJobHasEndedWhereItHasOnAllTargets(t *testing.T) {
	job := key("batch", "jobs", "load")
	failed, complete := conditions("FailureTarget=True", "Failed=True"), conditions("SuccessCriteriaMet=True", "Complete=True")
	for _, c := range []struct {
		name     string
		statuses []string
		want     string
		finished bool
	}{
		{"failed, runs", []string{failed, `{"active":1}`}, "FailureTarget=True", false},
		{"failed as before 1.31, runs", []string{conditions("Failed=True"), `{"active":1}`}, "FailureTarget=True", false},
		{"failed, not reported", []string{failed, ""}, "FailureTarget=True", false},
		{"failed, runs, complete", []string{failed, `{"active":1}`, complete}, "FailureTarget=True", false},
		{"failed, complete", []string{failed, complete}, "Failed=True FailureTarget=True", true},
		{"failed on both", []string{failed, failed}, "Failed=True FailureTarget=True", true},
		{"complete on both", []string{complete, complete}, "Complete=True SuccessCriteriaMet=True", true},
	} {
		is := merged(t, job, c.statuses...)
		if got := told(is); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if placement.Finished(job, map[string]any{"status": is}) != c.finished {
			t.Errorf("%s: finished is not %v", c.name, c.finished)
		}
	}
	if is := merged(t, job, complete, `{"active":1}`); placement.Finished(job, map[string]any{"status": is}) {
		t.Error("complete, runs: it has ended")
	}
	pod := key("", "pods", "p")
	if is := merged(t, pod, `{"phase":"Succeeded"}`, `{"phase":"Running"}`); is["phase"] != "Running" {
		t.Errorf("a Pod has succeeded on one target and runs on the other: %v", is["phase"])
	}
}

// A disruption budget that is divided lets as many Pods go as its targets do together, and its condition says so. One
// that each target has whole is as the worst says.
func TestADividedBudgetAllowsWhatItsTargetsAllow(t *testing.T) {
	status := func(healthy, allowed int, is, reason string) *store.Report {
		return &store.Report{Status: json.RawMessage(fmt.Sprintf(`{"currentHealthy":%d,"disruptionsAllowed":%d,"expectedPods":2,`+
			`"desiredHealthy":%d,"conditions":[{"type":"DisruptionAllowed","status":%q,"reason":%q}]}`,
			healthy, allowed, healthy-allowed, is, reason))}
	}
	reports := []*store.Report{status(2, 0, "False", "InsufficientPods"), status(2, 1, "True", "SufficientPods")}
	for divided, want := range map[bool]string{true: "4 1 4 3 True", false: "2 0 2 2 False"} {
		at := placement.Located{Key: store.Key{Space: "shop", Group: "policy", Resource: "poddisruptionbudgets",
			Namespace: "app", Name: "web"}, Targets: []string{"a", "b"}, Divided: divided}
		m, err := mergeAll(at, reports)
		if err != nil {
			t.Fatal(err)
		}
		c := byType(polaritiesAt(at), m["conditions"])["DisruptionAllowed"]
		if got := fmt.Sprint(m["currentHealthy"], " ", m["disruptionsAllowed"], " ", m["expectedPods"], " ",
			m["desiredHealthy"], " ", c["status"]); got != want {
			t.Errorf("divided %t: %s, want %s", divided, got, want)
		}
	}
}
