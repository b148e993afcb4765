package admin

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// served answers for one Placement, and notes the patches.
func served(placement string, patches *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			body, _ := io.ReadAll(r.Body)
			*patches = append(*patches, string(body)+r.URL.RawQuery)
		}
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/placements/all") {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		_, _ = io.WriteString(w, placement)
	}
}

func TestRolloutCommands(t *testing.T) {
	t.Parallel()
	placement := func(rollout, status string) string {
		return `{"apiVersion":"skerry.dev/v1alpha1","kind":"Placement","metadata":{"name":"all","uid":"u",
			"resourceVersion":"7"},"spec":{"objects":[{}],"targets":{},"rollout":` + rollout + `},"status":{` + status + `}}`
	}
	releases := `"rollout":{"release":3,"goal":3,"proven":2,"phase":"WaitingForApproval","group":"eu","total":4,"updated":1,
		"releases":[{"number":1,"created":null,"proven":true,"targets":0,"objects":1},
		{"number":2,"created":null,"proven":true,"targets":3,"objects":1},
		{"number":3,"created":null,"targets":1,"objects":1}]}`
	const progressive = `{"type":"Progressive","groupBy":"ring","approval":"Groups"}`
	for line, tc := range map[string]struct{ rollout, status, says, patch string }{
		"rollout status all":           {progressive, releases, "Group eu Targets 1 of 4 have release 3", ""},
		"rollout status no":            {progressive, releases, `there is no placement "no" in this space`, ""},
		"rollout status all -o json":   {progressive, releases, `"phase": "WaitingForApproval"`, ""},
		"rollout status all -o name":   {progressive, releases, `-o "name": use table, json or yaml`, ""},
		"rollout status placement/all": {`{}`, ``, "at once, also to those that hold releases", ""},
		"rollout pause all":            {progressive, releases, "placement.skerry.dev/all paused", `{"paused":true}`},
		"rollout pause all -o name":    {progressive, releases, "placement.skerry.dev/all", `{"paused":true}`},
		"rollout pause all --dry-run": {progressive, releases, "paused (dry run: nothing was changed)",
			`{"paused":true}}}dryRun=All`},
		"rollout resume all": {progressive, releases, "already goes on", ""},
		"rollout approve all": {progressive, releases, "release 3 approved for group eu",
			`{"approved":{"groups":["eu"],"release":3}}`},
		"rollout approve all --all":           {progressive, releases, "approved for all groups", `["*"]`},
		"rollout approve all --all --group a": {progressive, releases, "leave --group out", ""},
		"rollout approve all --group a":       {`{"type":"Progressive"}`, releases, "waits for no approval", ""},
		"rollout undo all": {progressive, releases, "release 3 taken back, to release 2",
			`{"undo":{"release":3,"to":2}}`},
		"rollout undo all --to-release 1": {progressive, releases, "to release 1", `{"undo":{"release":3,"to":1}}`},
		"rollout undo all --to-release 3": {progressive, releases, "release 3 is not one that is kept, proven and older", ""},
		"rollout undo all -o yaml":        {progressive, ``, "has no release yet", ""},
	} {
		var patches []string
		out, err := command(t, served(placement(tc.rollout, tc.status), &patches), line)
		if is := strings.Join(strings.Fields(out+text(err)), " "); !strings.Contains(is, tc.says) {
			t.Errorf("skerry %s\n says %s\n want %s", line, is, tc.says)
		}
		all := strings.Join(patches, "")
		if (tc.patch == "") != (all == "") || !strings.Contains(all, tc.patch) {
			t.Errorf("skerry %s sends %s, want %s", line, all, tc.patch)
		}
		if len(patches) == 1 && !strings.Contains(all, `"resourceVersion":"7"`) {
			t.Errorf("skerry %s does not say what it changes: %s", line, all)
		}
	}
}
