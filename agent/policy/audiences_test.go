package policy

import (
	"fmt"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// What the API servers of distributions take for their own audience is no audience for others.
func TestAudiencesOfDistributions(t *testing.T) {
	p, open := compile(t, tunnel.Allow{}, nil), compile(t, tunnel.Allow{Tokens: true}, nil)
	body := func(audience string) []byte {
		return fmt.Appendf(nil, `{"spec":{"template":{"spec":{"volumes":[{"name":"t","projected":{"sources":[`+
			`{"serviceAccountToken":{"path":"t","audience":%q}}]}}]}}}}`, audience)
	}
	check := func(p *Policy, audience string) error {
		return p.Object("shop", "app", "deployments.apps", body(audience), func(string) bool { return true })
	}
	for _, audience := range []string{
		"", "kubernetes", "https://kubernetes.default.svc", "https://kubernetes.default.svc.cluster.local", "k3s", "rke2",
		"https://container.googleapis.com/v1/projects/p/locations/l/clusters/c",
		"https://oidc.eks.eu-central-1.amazonaws.com/id/ABC", "https://c-1.hcp.westeurope.azmk8s.io",
		"https://westeurope.oic.prod-aks.azure.com/t/c/",
	} {
		refused(t, check(p, audience), ReasonField, "tokens: true")
		refused(t, check(open, audience), "", "")
	}
	for _, audience := range []string{"vault", "sts.amazonaws.com", "api://AzureADTokenExchange",
		"https://issuer.example.com"} {
		refused(t, check(p, audience), "", "")
	}
	asked := p.Audiences("deployments.apps", body("https://issuer.example.com"))
	refused(t, Issuer(asked, "https://issuer.example.com"), ReasonField, "tokens: true")
	refused(t, Issuer(asked, "https://other.example.com"), "", "")
	if len(open.Audiences("deployments.apps", body("x"))) != 0 || len(p.Audiences("configmaps", body("x"))) != 0 {
		t.Error("the cluster is asked for nothing")
	}
}
