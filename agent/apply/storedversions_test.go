package apply

import (
	"encoding/json"
	"slices"
	"testing"
)

// version is one of a definition: served, stored or both.
func version(name string, served, storage bool) map[string]any {
	return map[string]any{"name": name, "served": served, "storage": storage}
}

func definition(t *testing.T, stored []string, versions ...map[string]any) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"spec":   map[string]any{"group": "example.com", "names": map[string]any{"plural": "shops"}, "versions": versions},
		"status": map[string]any{"storedVersions": stored},
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestPlanMigration(t *testing.T) {
	alpha, beta := version("v1alpha1", true, false), version("v1beta1", true, false)
	for name, c := range map[string]struct {
		live, wished []byte
		lost, stored []string
		listed       string
		first        []string // the versions of the definition that comes first
	}{
		"nothing goes": {
			live:   definition(t, []string{"v1alpha1", "v1"}, alpha, version("v1", true, true)),
			wished: definition(t, nil, alpha, version("v1", true, true)),
		},
		"what nothing is stored in goes": {
			live:   definition(t, []string{"v1"}, alpha, version("v1", true, true)),
			wished: definition(t, nil, version("v1", true, true)),
		},
		"an old one goes": {
			live:   definition(t, []string{"v1alpha1", "v1beta1", "v1"}, alpha, beta, version("v1", true, true)),
			wished: definition(t, nil, version("v1", true, true)),
			lost:   []string{"v1alpha1", "v1beta1"}, stored: []string{"v1"}, listed: "v1",
		},
		"the one that is stored in goes": {
			live:   definition(t, []string{"v1alpha1"}, version("v1alpha1", true, true)),
			wished: definition(t, nil, version("v1", true, true)),
			lost:   []string{"v1alpha1"}, stored: []string{"v1"}, listed: "v1", first: []string{"v1", "v1alpha1"},
		},
		"what is stored in is not served": {
			live:   definition(t, []string{"v1alpha1", "v1"}, alpha, beta, version("v1", false, true)),
			wished: definition(t, nil, beta, version("v1", false, true)),
			lost:   []string{"v1alpha1"}, stored: []string{"v1"}, listed: "v1beta1",
		},
		"a definition that stores in nothing": {
			live:   definition(t, []string{"v1alpha1"}, version("v1alpha1", true, true)),
			wished: definition(t, nil, version("v1", true, false)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := planMigration(c.live, c.wished)
			if err != nil {
				t.Fatal(err)
			}
			if m == nil {
				if c.lost != nil {
					t.Fatal("nothing is planned")
				}
				return
			}
			if !slices.Equal(m.Lost, c.lost) || !slices.Equal(m.Stored, c.stored) || m.Resource.Version != c.listed {
				t.Errorf("planned %+v", m)
			}
			if m.First == nil {
				if c.first != nil {
					t.Error("nothing comes first")
				}
				return
			}
			var first definitionVersions
			if err := json.Unmarshal(m.First, &first); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(first.names(), c.first) || first.storage() != c.stored[0] {
				t.Errorf("first comes %+v", first.Spec.Versions)
			}
		})
	}
	if _, err := planMigration([]byte("{"), []byte("{}")); err == nil {
		t.Error("what cannot be read is planned with")
	}
}
