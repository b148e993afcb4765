package placement

import (
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/store"
)

func TestForHowLongCallersComeBack(t *testing.T) {
	service := store.Key{Space: "shop", Resource: "services", Namespace: "app", Name: "web"}
	for text, want := range map[string]time.Duration{
		"{}":                          0,
		"{sessionAffinity: None}":     0,
		"{sessionAffinity: ClientIP}": 3 * time.Hour,
		"{sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}}": time.Minute,
		"{sessionAffinity: None, sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}}":     0,
	} {
		var o map[string]any
		if err := yaml.Unmarshal([]byte("spec: "+text), &o); err != nil {
			t.Fatal(err)
		}
		if got := SessionAffinityOf(service, o); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
		if got := SessionAffinityOf(store.Key{Resource: "configmaps"}, o); got != 0 {
			t.Errorf("%s of another kind: %s", text, got)
		}
	}
}
