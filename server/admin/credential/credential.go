package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/keyfile"
)

// Credential is a client certificate with its key, or a token.
type Credential struct {
	Certificate string `json:"certificate,omitempty"` // PEM
	Key         string `json:"key,omitempty"`         // PEM
	Token       string `json:"token,omitempty"`
	// Next is before when the center is not asked again to renew it.
	Next time.Time `json:"next,omitzero"`
}

// span returns from when until when the credential counts.
func (c Credential) span() (from, until time.Time, err error) {
	if c.Token != "" {
		t, err := ParseToken(c.Token)
		return t.Issued, t.Expires, err
	}
	certs, err := keyfile.Certificates([]byte(c.Certificate))
	if err != nil {
		return from, until, err
	}
	return certs[0].NotBefore, certs[0].NotAfter, nil
}

// ended reports whether a credential is over at a time, and since when.
func (c Credential) ended(now time.Time) (until time.Time, over bool) {
	_, until, err := c.span()
	return until, err == nil && now.After(until)
}

// Token is what a token of a user of a space says of itself. Nothing of it is verified: it is for
// the holder of the token.
type Token struct {
	// Space is the space that issued it, User the user of that space.
	Space, User     string
	Issued, Expires time.Time
}

// errNoToken is returned by ParseToken.
var errNoToken = errors.New("this is no token of a user of a space")

// ParseToken reads a token of a user of a space.
func ParseToken(token string) (Token, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Token{}, errNoToken
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Token{}, errNoToken
	}
	var claims struct {
		Issuer     string  `json:"iss"`
		Expires    float64 `json:"exp"`
		Issued     float64 `json:"iat"`
		Kubernetes struct {
			Namespace      string `json:"namespace"`
			ServiceAccount struct {
				Name string `json:"name"`
			} `json:"serviceaccount"`
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return Token{}, errNoToken
	}
	_, space, _ := strings.Cut(claims.Issuer, "/clusters/")
	account := claims.Kubernetes
	if space == "" || account.Namespace != v1alpha1.UsersNamespace || account.ServiceAccount.Name == "" {
		return Token{}, errNoToken
	}
	return Token{Space: space, User: account.ServiceAccount.Name,
		Issued: time.Unix(int64(claims.Issued), 0), Expires: time.Unix(int64(claims.Expires), 0)}, nil
}
