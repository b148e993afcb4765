package server_test

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// TestWhatActsNowhereIsStoredInWords: charts have kinds that act on a cluster's own control plane. A
// space stores them, says so, and its discovery stays whole.
func TestWhatActsNowhereIsStoredInWords(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	defer c.stop()
	c.createSpace("team", "Delete")
	config, told := c.admin("team"), &warnings{}
	config.WarningHandlerWithContext = told
	for _, o := range []struct{ group, resource, warns, manifest string }{
		{"apiregistration.k8s.io", "apiservices", "serves no APIs of Services", `{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1beta1.metrics.k8s.io"},
			"spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
				"insecureSkipTLSVerify": true, "service": {"name": "metrics-server", "namespace": "default"}}}`},
		{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "spec.quota", `{
			"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "metadata": {"name": "slow"},
			"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}}}`},
		{"certificates.k8s.io", "certificatesigningrequests", "signs certificates", `{
			"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "web"},
			"spec": {"signerName": "example.com/ours", "usages": ["client auth"], "request": "REQUEST"}}`},
		{"storage.k8s.io", "csidrivers", "", `{
			"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.example.com"}, "spec": {}}`},
		{"node.k8s.io", "runtimeclasses", "", `{
			"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "wasm"}, "handler": "spin"}`},
		{"discovery.k8s.io", "endpointslices", "", `{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "db", "namespace": "default"},
			"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.7"]}], "ports": [{"port": 5432}]}`},
	} {
		u := &unstructured.Unstructured{}
		must(t, u.UnmarshalJSON([]byte(strings.Replace(o.manifest, "REQUEST", signingRequest(t), 1))))
		r := dyn(t, config).Resource(schema.GroupVersionResource{Group: o.group, Version: "v1", Resource: o.resource})
		_, err := r.Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{})
		must(t, err)
		if text := told.take(); !strings.Contains(text, o.warns) || o.warns == "" && text != "" {
			t.Errorf("%s: warned of %q", o.resource, text)
		}
	}
	services := dyn(t, config).Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io",
		Version: "v1", Resource: "apiservices"})
	is, err := services.Get(t.Context(), "v1beta1.metrics.k8s.io", metav1.GetOptions{})
	must(t, err)
	conditions, _, _ := unstructured.NestedSlice(is.Object, "status", "conditions")
	if len(conditions) != 1 || conditions[0].(map[string]any)["type"] != "Available" ||
		conditions[0].(map[string]any)["status"] != "False" {
		t.Errorf("conditions %v", conditions)
	}
	groups, resources, err := clients(t, config).Discovery().ServerGroupsAndResources()
	must(t, err)
	for _, g := range groups {
		if g.Name == "metrics.k8s.io" {
			t.Error("discovery has the group of an APIService")
		}
	}
	if len(resources) < 10 {
		t.Errorf("discovery has %d lists", len(resources))
	}
	_, err = restmapper.GetAPIGroupResources(clients(t, config).Discovery())
	must(t, err)
}

// signingRequest is a PEM of a request for a certificate, in base64.
func signingRequest(t *testing.T) string {
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: "web"}}, newKey(t))
	must(t, err)
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}
