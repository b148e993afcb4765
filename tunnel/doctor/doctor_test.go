package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var broken = Fault{Name: "broken", Means: "It is broken.", Fix: "mend it"}

func found(f ...Finding) func(context.Context) []Finding {
	return func(context.Context) []Finding { return f }
}

func look(ctx context.Context, checks []Check) *Report {
	r := New("v1")
	r.Run(ctx, "here", checks)
	return r
}

func checked(t *testing.T, checks []Check) *Report { return look(t.Context(), checks) }

func verdicts(r *Report) (out []string) {
	for _, f := range r.Findings {
		out = append(out, f.Check+"="+string(f.Verdict))
	}
	return out
}

// A cause is named once: what needs a failed check is skipped, over any number of steps, and names
// the first cause. A warning skips nothing.
func TestOneCause(t *testing.T) {
	r := checked(t, []Check{
		{Name: "a", Run: found(broken.Warns("slow"))},
		{Name: "b", Needs: []string{"a"}, Run: found(broken.Fails("it lies there"))},
		{Name: "c", Needs: []string{"a", "b"}, Run: found(broken.Fails("a symptom"))},
		{Name: "d", Needs: []string{"c"}, Run: found(broken.Fails("a symptom of that"))},
		{Name: "e", Needs: []string{"a"}, Run: found()},
		{Name: "f", Run: found(Skip("not here"))},
		{Name: "g", Needs: []string{"f"}, Run: found(Good("seen"))},
	})
	want := "a=warning b=failed c=skipped d=skipped e=ok f=skipped g=ok"
	if got := strings.Join(verdicts(r), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if why := r.Findings[3].Why; why != "because b failed" {
		t.Errorf("d was skipped %s", why)
	}
	if err := r.Err(); !errors.Is(err, ErrFaults) || !strings.Contains(err.Error(), "1 check failed") {
		t.Errorf("Err is %v", err)
	}
	if r := checked(t, []Check{{Name: "a", Run: found(broken.Warns(""))}}); r.Err() != nil {
		t.Errorf("a warning is no failure: %v", r.Err())
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := look(ctx, []Check{
		{Name: "a", Run: func(context.Context) []Finding { cancel(); return nil }},
		{Name: "b", Run: func(context.Context) []Finding { t.Error("b has run"); return nil }},
	})
	if got := strings.Join(verdicts(r), " "); got != "a=ok b=skipped" {
		t.Error(got)
	}
}

func TestPrint(t *testing.T) {
	r := checked(t, []Check{
		{Name: "a", What: "whether a is there", Run: found(Good("a is at 3"))},
		{Name: "b", Run: found(broken.Fails("b is %s", "in two").On("site").Do("glue %s", "b"))},
	})
	print := func(format string) string {
		var out bytes.Buffer
		if err := r.Print(&out, format); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	table := print("")
	for _, want := range []string{"whether a is there", "b       failed    site", "failed: broken (b, site)", "why: b is in two",
		"fix: glue b", "1 ok, 0 warnings, 1 failed, 0 skipped"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
	if wide := print("wide"); !strings.Contains(wide, "a is at 3") {
		t.Error(wide)
	}
	var fromJSON, fromYAML Report
	if err := json.Unmarshal([]byte(print("json")), &fromJSON); err != nil || len(fromJSON.Findings) != 2 {
		t.Errorf("%v %v", fromJSON, err)
	}
	if err := yaml.Unmarshal([]byte(print("yaml")), &fromYAML); err != nil || fromYAML.Findings[1] != fromJSON.Findings[1] {
		t.Errorf("%v %v", fromYAML, err)
	}
	if Known("xml") || !Known("") || !Known("yaml") {
		t.Error("formats")
	}
}
