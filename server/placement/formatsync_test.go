package placement

import (
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestFormatSyncSaysWhatDiffersFromTheDefault(t *testing.T) {
	for _, tc := range []struct {
		policy     v1alpha1.SyncPolicy
		associated v1alpha1.Associated
		want       string
	}{
		{v1alpha1.SyncPolicy{}, "", ""},
		{v1alpha1.SyncPolicy{WhenDrifted: v1alpha1.DriftRestore}, v1alpha1.AssociatedAuto, ""},
		{v1alpha1.SyncPolicy{}, v1alpha1.AssociatedNone, `{"associated":"None"}`},
		{v1alpha1.SyncPolicy{WhenDrifted: "Report"}, v1alpha1.AssociatedNone, `{"whenDrifted":"Report","associated":"None"}`},
	} {
		got := FormatSync(tc.policy, tc.associated)
		if got != tc.want {
			t.Errorf("%+v %q is %s, want %s", tc.policy, tc.associated, got, tc.want)
		}
		if back := ParseSync(got); back.WhenDrifted != "" && back.WhenDrifted != tc.policy.WhenDrifted {
			t.Errorf("%s is read as %+v", got, back)
		}
	}
}
