package doctor

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// The kubeconfig leads somewhere else than it should.
func TestOtherCluster(t *testing.T) {
	cfg, api := joined(t)
	uid := api.Object("", "namespaces", "", "kube-system")["metadata"].(map[string]any)["uid"].(string)
	wrote := func(cluster string) {
		t.Helper()
		text := `{"target": {"Cluster": "` + cluster + `"}}`
		if err := os.WriteFile(filepath.Join(cfg.DataDir, "site.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrote(uid)
	alone(t, cfg, "", "")
	wrote("another")
	if f := alone(t, cfg, "target.cluster", "target-other-cluster"); !strings.Contains(f.Why, uid) {
		t.Errorf("%+v", f)
	}
	cfg.Joining = true // a site that joins has written nothing
	alone(t, cfg, "", "")
	api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/version" {
			return false
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": "v1.36.3+skerry"})
		return true
	})
	alone(t, cfg, "target.cluster", "target-is-center")
}

// putWebhook makes a webhook that is asked by a Service.
func putWebhook(api *targettest.Server, name, policy, service string, resources ...any) {
	api.Put("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "", name, map[string]any{
		"webhooks": []any{map[string]any{"name": name + ".example.com", "failurePolicy": policy,
			"clientConfig": map[string]any{"service": map[string]any{"namespace": "guard", "name": service}},
			"rules": []any{map[string]any{"apiGroups": []any{"*"}, "resources": resources,
				"operations": []any{"CREATE"}}}}}})
}

func TestWebhooks(t *testing.T) {
	cfg, api := joined(t)
	selector := map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "guard"}}}
	api.Put("v1", "Service", "guard", "up", selector)
	slice := map[string]any{"metadata": map[string]any{"labels": map[string]any{"kubernetes.io/service-name": "up"}},
		"endpoints": []any{map[string]any{"conditions": map[string]any{"ready": true}}}}
	api.Put("discovery.k8s.io/v1", "EndpointSlice", "guard", "up-1", slice)
	putWebhook(api, "well", "Fail", "up", "*")
	putWebhook(api, "ignored", "Ignore", "nosuch", "*")
	api.Put("v1", "Service", "guard", "manual", nil) // its endpoints are made by hand, in no slice yet
	putWebhook(api, "manual", "Fail", "manual", "*")
	alone(t, cfg, "", "")
	putWebhook(api, "narrow", "Fail", "nosuch", "widgets")
	f := alone(t, cfg, "target.webhooks", "target-webhook-down")
	if f.Verdict != "warning" || !strings.Contains(f.Why, "Service guard/nosuch: there is no such Service") {
		t.Errorf("%+v", f)
	}
	api.Put("v1", "Service", "guard", "down", selector)
	putWebhook(api, "wide", "Fail", "down", "deployments")
	f = alone(t, cfg, "target.webhooks", "target-webhook-down")
	if f.Verdict != "failed" || !strings.Contains(f.Why, "deployments are refused") ||
		f.Fix != "start what is behind Service guard/down, or delete ValidatingWebhookConfiguration/wide" {
		t.Errorf("%+v", f)
	}
}

func TestNodes(t *testing.T) {
	cfg, api := joined(t)
	ready := func(name, status string) {
		api.Put("v1", "Node", "", name, map[string]any{"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Ready", "status": status}}}})
	}
	alone(t, cfg, "", "") // some clusters show none
	ready("a", "Unknown")
	if f := alone(t, cfg, "target.nodes", "target-no-node-ready"); !strings.HasPrefix(f.Why, "1 nodes") {
		t.Errorf("%+v", f)
	}
	ready("b", "True")
	alone(t, cfg, "", "")
}

func TestMetricsPort(t *testing.T) {
	l, err := net.Listen("tcp", tunneltest.AnyPort())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg, _ := joined(t)
	cfg.MetricsListen = l.Addr().String()
	alone(t, cfg, "machine.metrics", "metrics-port-taken")
}
