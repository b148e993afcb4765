package bolt

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"

	"skerry.dev/skerry/store"
)

// sealer encrypts the bodies of Secrets with AES-256-GCM, a random nonce each, bound to the key that they are stored under.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	if key == nil {
		return nil, nil
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("seal key of %d bytes, want 32", len(key))
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &sealer{aead}, nil
}

func (s *sealer) wants(k store.Key) bool { return s != nil && k.Group == "" && k.Resource == "secrets" }

func (s *sealer) seal(k store.Key, body []byte) []byte {
	return s.aead.Seal(nil, nil, body, []byte(k.Encode()))
}

func (s *sealer) open(k store.Key, sealed []byte) ([]byte, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: %s, and no key is given", ErrSealed, k)
	}
	body, err := s.aead.Open(nil, nil, sealed, []byte(k.Encode()))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrSealed, k)
	}
	return body, nil
}
