package manifest

import (
	"bytes"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestTemplatesRender(t *testing.T) {
	for name, stream := range map[string][]byte{
		"storage": Storage("example.org/provisioner"),
		"dns":     DNS("10.96.0.10", "localhost/coredns:1"),
		"node":    SimulatedNode("n1"),
	} {
		for document := range bytes.SplitSeq(stream, []byte("\n---\n")) {
			var o struct{ Kind string }
			if err := yaml.Unmarshal(document, &o); err != nil || o.Kind == "" {
				t.Errorf("%s: kind %q, %v in\n%s", name, o.Kind, err, document)
			}
		}
	}
}
