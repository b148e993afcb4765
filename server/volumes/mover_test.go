package volumes

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

func decoded(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var move = &Move{Space: "shop", Unit: "unit", From: "paris", FromUID: "p-uid", To: "oslo", ToUID: "o-uid"}

// A mover is the user of the workload, is scheduled like it at the new target, and beside it at the old one.
func TestAMoverIsLikeTheWorkload(t *testing.T) {
	template := decoded(t, `{"spec":{"securityContext":{"fsGroup":7},"nodeSelector":{"disk":"ssd"},
		"tolerations":[{"operator":"Exists"}],"imagePullSecrets":[{"name":"pull"}],
		"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}],"containers":[
		{"name":"side","securityContext":{"runAsUser":1}},
		{"name":"app","securityContext":{"runAsUser":5,"readOnlyRootFilesystem":true},"volumeMounts":[{"name":"v"}]}]}}`)
	before, _ := json.Marshal(template)
	c := Claim{Namespace: "web", Name: "data", UID: "c-uid"}
	for _, side := range []Side{SideFrom, SideTo, SideSource, SideStandby} {
		k := MoverKey(move, c, side)
		mounts := len(fields.List(fields.List(Mover(k, move, c, side, "image", template, ""), "spec", "template", "spec",
			"containers")[0].(map[string]any), "volumeMounts"))
		if remembers := mounts == 2; remembers == side.Replicates() {
			t.Errorf("%s: it has %d volumes", side, mounts)
		}
	}
	for _, side := range []Side{SideFrom, SideTo} {
		k := MoverKey(move, c, side)
		o := Mover(k, move, c, side, "image", template, "node-1")
		pod := fields.Map(o, "spec", "template", "spec")
		container := fields.List(pod, "containers")[0].(map[string]any)
		if own := fields.Map(container, "securityContext"); own["runAsUser"] != 5.0 || len(own) != 1 {
			t.Errorf("%s: it is %v", side, own)
		}
		if fields.Map(pod, "securityContext")["fsGroup"] != 7.0 || pod["automountServiceAccountToken"] != false ||
			len(fields.List(pod, "imagePullSecrets")) != 1 || len(fields.List(pod, "tolerations")) != 1 {
			t.Errorf("%s: its Pod is %v", side, pod)
		}
		beside := fields.Map(pod, "affinity", "nodeAffinity") != nil
		if like := pod["nodeSelector"] != nil; like != (side == SideTo) || beside != (side == SideFrom) {
			t.Errorf("%s: like the workload %t, on its node %t", side, like, beside)
		}
		want := map[Side]string{SideFrom: "paris", SideTo: "oslo"}[side]
		if fields.String(o, "metadata", "labels", v1alpha1.LabelTarget) != want || len(k.Name) > 63 {
			t.Errorf("%s: %s is at %v", side, k.Name, fields.Map(o, "metadata", "labels"))
		}
		mark, ok := ParseMark(fields.String(o, "metadata", "annotations", v1alpha1.AnnotationMover))
		if !ok || mark != (Mark{"unit", "p-uid", "o-uid", side}) {
			t.Errorf("%s: its mark is %v", side, mark)
		}
	}
	if after, _ := json.Marshal(template); string(after) != string(before) {
		t.Error("the template of the workload was changed")
	}
	if a, b := MoverKey(move, c, SideFrom), MoverKey(move, Claim{Namespace: "web", Name: "data", UID: "other"}, SideFrom); a == b {
		t.Error("two claims have one mover")
	}
}

// Who leaves the user to the image is copied by root, unless it says that it is not root.
func TestTheUserOfAMover(t *testing.T) {
	for text, want := range map[string]any{
		`{"spec":{"containers":[{"name":"a"}]}}`:                                                       int64(0),
		`{"spec":{"securityContext":{"runAsUser":9},"containers":[{"name":"a"}]}}`:                     nil,
		`{"spec":{"securityContext":{"runAsNonRoot":true},"containers":[{"name":"a"}]}}`:               nil,
		`{"spec":{"containers":[{"name":"a","securityContext":{"runAsNonRoot":true,"runAsUser":3}}]}}`: 3.0,
	} {
		c := Claim{Namespace: "web", Name: "data", UID: "c-uid"}
		o := Mover(MoverKey(move, c, SideTo), move, c, SideTo, "image", decoded(t, text), "")
		container := fields.List(fields.Map(o, "spec", "template", "spec"), "containers")[0].(map[string]any)
		if got := fields.Map(container, "securityContext")["runAsUser"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: user %v, want %v", text, got, want)
		}
	}
}

// A claim of a template is made at the new target alone.
func TestAClaimOfATemplate(t *testing.T) {
	template := decoded(t, `{"spec":{"containers":[{"name":"a","securityContext":{"runAsUser":1}},
		{"name":"b","securityContext":{"runAsUser":2},"volumeMounts":[{"name":"data"}]}]}}`)
	c := Claim{Namespace: "web", Name: "data-my-db-0", UID: "s-uid", Made: &store.MoverClaim{Name: "data-my-db-0", Set: "my-db", Template: "data",
		Spec: json.RawMessage(`{"accessModes":["ReadWriteOnce"]}`), Of: 1}}
	for side, makes := range map[Side]bool{SideFrom: false, SideTo: true} {
		o := Mover(MoverKey(move, c, side), move, c, side, "image", template, "")
		var made store.MoverClaim
		text := fields.String(o, "metadata", "annotations", store.AnnotationMoverClaim)
		if err := json.Unmarshal([]byte(text), &made); err != nil || made.Make != makes || made.Set != "my-db" {
			t.Errorf("%s: %v, %v", side, text, err)
		}
		container := fields.List(fields.Map(o, "spec", "template", "spec"), "containers")[0].(map[string]any)
		if fields.Map(container, "securityContext")["runAsUser"] != 2.0 {
			t.Errorf("%s: it is not who mounts the volume: %v", side, container)
		}
	}
}

func TestParseMark(t *testing.T) {
	for _, text := range []string{"", "a", "a b c", "a b c d", "a b c from e", " b c from", "a  c to"} {
		if m, ok := ParseMark(text); ok {
			t.Errorf("%q is %v", text, m)
		}
	}
	for _, u := range []string{string(WakeUp()), string(Keeper(time.Unix(0, 0)))} {
		if decoded(t, u)["spec"] == nil || !strings.Contains(u, v1alpha1.AnnotationKeepUntil) {
			t.Error(u)
		}
	}
}
