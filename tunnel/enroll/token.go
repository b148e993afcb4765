package enroll

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// tokenPrefix names the format.
const tokenPrefix = "skt1"

// ErrTokenFormat is returned by ParseToken for a text that is not a token, or not all of one.
var ErrTokenFormat = errors.New(
	"not a join token; it has the form skt1.<id>.<secret>.<pin>: copy all of what `skerry token create` printed",
)

// Token is a join token. Its text is skt1.<id>.<secret>.<pin>.
type Token struct {
	// ID names the token in lists: 8 hex digits.
	ID string
	// Secret is 128 random bits in hex. The center keeps only its hash.
	Secret string
	// Pin is the SHA-256, in hex, of the SubjectPublicKeyInfo of the center's CA.
	Pin string
}

// NewToken makes a random token for the center with this pin.
func NewToken(pin string) Token {
	b := make([]byte, 20)
	rand.Read(b) // never fails, see crypto/rand
	return Token{ID: hex.EncodeToString(b[:4]), Secret: hex.EncodeToString(b[4:]), Pin: pin}
}

// ParseToken is the inverse of Token.String.
func ParseToken(s string) (Token, error) {
	p := strings.Split(strings.TrimSpace(s), ".")
	if len(p) != 4 || p[0] != tokenPrefix || !isHex(p[1], 4) || !isHex(p[2], 16) || !isHex(p[3], sha256.Size) {
		return Token{}, ErrTokenFormat
	}
	return Token{ID: p[1], Secret: p[2], Pin: p[3]}, nil
}

func isHex(s string, bytes int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == bytes && s == strings.ToLower(s)
}

// String returns the token's text, secret included. Never log it.
func (t Token) String() string {
	return strings.Join([]string{tokenPrefix, t.ID, t.Secret, t.Pin}, ".")
}

// GoString keeps the secret out of %#v.
func (t Token) GoString() string { return fmt.Sprintf("enroll.Token(%s)", t.ID) }

// Hash is what the center keeps of the secret: its SHA-256 in hex.
func (t Token) Hash() string { return HashSecret(t.Secret) }

// HashSecret returns the SHA-256, in hex, of a token's secret. The secret is random, so it needs no
// salt.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// SameHash compares two hashes in constant time.
func SameHash(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
