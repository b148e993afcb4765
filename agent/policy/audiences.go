package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

func (p *Policy) tokens() bool { return both(p.site.Tokens, p.parent.Tokens) }

// ownWords are words by which distributions call their own API in the audience of a token, beside
// its issuer: k3s and rke2 add their names.
var ownWords = []string{"", "k3s", "rke2"}

// ownHosts are parts of the issuers of Kubernetes, and of GKE, EKS and AKS, whose API servers take
// their issuer for their audience.
var ownHosts = []string{"kubernetes", "container.googleapis.com", "oidc.eks.", "azmk8s.io", "oic.prod-aks.azure.com"}

func ownAudience(audience string) bool {
	return slices.Contains(ownWords, audience) ||
		slices.ContainsFunc(ownHosts, func(part string) bool { return strings.Contains(audience, part) })
}

// checkTokens refuses projected tokens for the site's API: those without an audience, or with one
// that clusters have; and certificates of Kubernetes' own signers, which stand for the same account.
func (p *Policy) checkTokens(spec *podSpec) error {
	if p.tokens() {
		return nil
	}
	for _, v := range spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if t := source.ServiceAccountToken; t != nil && ownAudience(t.Audience) {
				return ownToken(v.Name)
			}
			if c := source.PodCertificate; c != nil && strings.HasPrefix(c.SignerName, "kubernetes.io/") {
				return refuse(ReasonField, "tokens", "true",
					"volume %q projects a certificate for the site's own API; name another signer", v.Name)
			}
		}
	}
	return nil
}

func ownToken(volume string) error {
	return refuse(ReasonField, "tokens", "true",
		"volume %q projects a token for the site's own API; give the token another audience", volume)
}

// Audiences are those of the tokens that the Pods of an object project, by the names of volumes, as
// far as the site's rules depend on what its cluster takes for its own. Most objects have none.
func (p *Policy) Audiences(kind string, body []byte) map[string][]string {
	if p.tokens() {
		return nil
	}
	var out map[string][]string
	for _, at := range templates[kind] {
		var pod struct {
			Spec podSpec `json:"spec"`
		}
		if below := field(body, at); below == nil || json.Unmarshal(below, &pod) != nil {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Projected == nil {
				continue
			}
			for _, source := range v.Projected.Sources {
				if source.ServiceAccountToken == nil {
					continue
				}
				if out == nil {
					out = map[string][]string{}
				}
				out[v.Name] = append(out[v.Name], source.ServiceAccountToken.Audience)
			}
		}
	}
	return out
}

// Issuer refuses those of the audiences that are the issuer of the cluster's own tokens, which its
// API server takes for its audience.
func Issuer(audiences map[string][]string, issuer string) error {
	for _, volume := range sortedKeys(audiences) {
		if slices.Contains(audiences[volume], issuer) {
			return ownToken(volume)
		}
	}
	return nil
}
