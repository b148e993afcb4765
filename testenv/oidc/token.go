package oidc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// Claims are the claims of a token.
type Claims map[string]any

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // claims are plain
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// sign makes a token. Without a key its algorithm is none.
func sign(c Claims, key *ecdsa.PrivateKey) (string, error) {
	if key == nil {
		return encode(map[string]string{"alg": "none", "typ": "JWT"}) + "." + encode(c) + ".", nil
	}
	text := encode(map[string]string{"alg": "ES256", "typ": "JWT", "kid": "k"}) + "." + encode(c)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// Mint returns a token of the provider whose files are in a directory, with some
// claims instead of the honest ones. by says who signs: "provider", "stranger",
// or "nobody".
func Mint(dir, issuer, audience string, other Claims, by string) (string, error) {
	now := time.Now()
	c := Claims{"iss": issuer, "aud": audience, "sub": "mallory", "email": "mallory@example.com", "email_verified": true,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(c, other)
	switch by {
	case "provider":
		key, err := readKey(filepath.Join(dir, "id.key"))
		if err != nil {
			return "", err
		}
		return sign(c, key)
	case "stranger":
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return "", err
		}
		return sign(c, key)
	case "nobody":
		return sign(c, nil)
	}
	return "", errors.New("--by is provider, stranger or nobody")
}

func readKey(file string) (*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New(file + " holds no key")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}
