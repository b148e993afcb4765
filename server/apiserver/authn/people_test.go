package authn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	jose "gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
)

// TestIssuerOf: the center's address in a token may be another one, its space may not.
func TestIssuerOf(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	here, err := NewTokens("https://center:7443", key, nil)
	if err != nil {
		t.Fatal(err)
	}
	for issuer, want := range map[string]string{
		"https://center:7443/clusters/team":                  "https://center:7443/clusters/team",
		"https://replica:7443/clusters/team":                 "https://replica:7443/clusters/team",
		"https://replica:7443/clusters/team-b":               "https://center:7443/clusters/team",
		"https://replica:7443/clusters/x/clusters/team":      "https://center:7443/clusters/team",
		"https://replica:7443/clusters/b?/clusters/team":     "https://center:7443/clusters/team",
		"https://b@replica:7443/clusters/team":               "https://center:7443/clusters/team",
		"http://replica:7443/clusters/team":                  "https://center:7443/clusters/team",
		"/clusters/team":                                     "https://center:7443/clusters/team",
		"https://replica:7443/clusters/team/clusters/team-b": "https://center:7443/clusters/team",
	} {
		g := signed(t, issuer, key)
		if got := here.issuerOf(g, "team"); got != want {
			t.Errorf("%s: %s, want %s", issuer, got, want)
		}
	}
	if got := here.issuerOf("no token", "team"); got != "https://center:7443/clusters/team" {
		t.Errorf("no token: %s", got)
	}
}

func signed(t *testing.T, issuer string, key *ecdsa.PrivateKey) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jwt.Signed(s).Claims(jwt.Claims{Issuer: issuer}).CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
