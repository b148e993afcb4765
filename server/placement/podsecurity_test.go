package placement

import "testing"

func TestLevelOf(t *testing.T) {
	for _, test := range []struct {
		list []string
		want string
	}{
		{nil, ""},
		{[]string{"baseline"}, "baseline"},
		{[]string{"shop=privileged"}, "privileged"},
		{[]string{"bank=privileged"}, ""},
		{[]string{"shop=privileged", "restricted"}, "privileged"},
		{[]string{"restricted", "bank=baseline", "shop=privileged"}, "privileged"},
		{[]string{"restricted", "shopping=privileged"}, "restricted"},
	} {
		if got := LevelOf("shop", test.list); got != test.want {
			t.Errorf("%v: %q, want %q", test.list, got, test.want)
		}
	}
}
