package placement

import (
	"testing"

	"skerry.dev/skerry/store"
)

type shape = map[string]any

func TestUncommonVolumes(t *testing.T) {
	claim := store.Key{Resource: "persistentvolumeclaims", Name: "data"}
	set := store.Key{Group: "apps", Resource: "statefulsets", Name: "db"}
	block, alone := shape{"volumeMode": "Block"}, shape{"accessModes": []any{"ReadWriteOncePod"}}
	template := func(name string, spec shape) shape { return shape{"metadata": shape{"name": name}, "spec": spec} }
	for name, c := range map[string]struct {
		k    store.Key
		spec shape
		want Uncommon
	}{
		"a common claim":        {claim, shape{"volumeMode": "Filesystem", "accessModes": []any{"ReadWriteOnce"}}, Uncommon{}},
		"a block volume":        {claim, block, Uncommon{Block: "data"}},
		"for one Pod":           {claim, alone, Uncommon{OnePod: "data"}},
		"templates":             {set, shape{"volumeClaimTemplates": []any{template("a", shape{}), template("b", block), template("c", alone)}}, Uncommon{Block: "b", OnePod: "c"}},
		"no templates":          {set, shape{}, Uncommon{}},
		"another kind of thing": {store.Key{Group: "apps", Resource: "deployments", Name: "data"}, block, Uncommon{}},
	} {
		if got := UncommonVolumes(c.k, shape{"spec": c.spec}); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
