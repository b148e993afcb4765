package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// What a refusal says that the word trusted allows is what it allows.
func TestTrustedKeys(t *testing.T) {
	a, err := Trusted.Allows()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	if got, want := sortedKeys(fields), slices.Sorted(slices.Values(trustedKeys)); !slices.Equal(got, want) {
		t.Errorf("it allows %v, and refusals say %v", got, want)
	}
}

func TestPresets(t *testing.T) {
	for _, word := range Presets() {
		a, err := Preset(word).Allows()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(a, nil); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		if a.Tokens || a.TakeOver || len(a.Namespaces)+len(a.ServiceAccounts)+len(a.Upsync) > 0 {
			t.Errorf("%s opens what others have on the cluster: %+v", word, a)
		}
	}
	if _, err := Preset("open").Allows(); err == nil || !strings.Contains(err.Error(), "restricted, baseline, trusted") {
		t.Errorf("a word that there is not: %v", err)
	}
	first, _ := Trusted.Allows()
	first.Kinds[0] = "changed"
	if second, _ := Trusted.Allows(); second.Kinds[0] != "*" {
		t.Error("a caller changes the preset of others")
	}
}

func TestRefusalsNameTheWord(t *testing.T) {
	p := compile(t, tunnel.Allow{}, nil)
	if err := p.Kind("storage.k8s.io", "storageclasses", false); err == nil || !strings.Contains(err.Error(), "policy: trusted") {
		t.Errorf("a kind: %v", err)
	}
	if err := p.TakeOver("apps", "deployments"); err == nil || strings.Contains(err.Error(), "policy: trusted") {
		t.Errorf("what the word does not allow: %v", err)
	}
	trusted, _ := Trusted.Allows()
	if err := compile(t, trusted, nil).Kind("storage.k8s.io", "storageclasses", false); err != nil {
		t.Error(err)
	}
}
