package top

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/tunnel/usage"
)

// TestConvert: what a site says gets the space's labels; what no cluster says, such as codes for a
// terminal, is refused with the Pod's name.
func TestConvert(t *testing.T) {
	with := func(change func(*usage.Metrics)) usage.Metrics {
		m := usage.Metrics{
			Metadata:   usage.Metadata{Name: "web", Namespace: "shop"},
			Timestamp:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			Window:     "30s",
			Containers: []usage.Container{{Name: "app", Usage: map[string]string{"cpu": "7m", "memory": "11Mi"}}},
		}
		change(&m)
		return m
	}
	m, err := convert(with(func(*usage.Metrics) {}), map[string]string{"app": "web"})
	if err != nil || m.Labels["app"] != "web" || m.Window.Duration != 30*time.Second || m.Timestamp.Year() != 2026 ||
		m.CreationTimestamp.IsZero() || m.Containers[0].Usage.Cpu().MilliValue() != 7 ||
		m.Containers[0].Usage[corev1.ResourceMemory] != *m.Containers[0].Usage.Memory() {
		t.Errorf("%+v: %v", m, err)
	}
	for what, change := range map[string]func(*usage.Metrics){
		"window":    func(m *usage.Metrics) { m.Window = "soon" },
		"container": func(m *usage.Metrics) { m.Containers[0].Name = "\x1b[31m" },
		"quantity":  func(m *usage.Metrics) { m.Containers[0].Usage["cpu"] = "much" },
		"resource":  func(m *usage.Metrics) { m.Containers[0].Usage["\x1b"] = "7m" },
	} {
		if _, err := convert(with(change), nil); err == nil || !strings.Contains(err.Error(), "pod shop/web") ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
