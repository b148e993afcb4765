package encryption

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/secretbox"

	"skerry.dev/skerry/tunnel/keyfile"
)

// FileName is the key file's name among the center's keys.
const FileName = "encryption-keys"

// localPrefix stands before values that a key of a key file has encrypted, and before the key's ID.
const localPrefix = "k8s:enc:secretbox:v1:"

// ErrKeyFile is returned for a key file that cannot be used.
var ErrKeyFile = errors.New(
	"not a key file: it holds one key a line, each 32 bytes in base64; make one with: openssl rand -base64 32",
)

// key is one key of a key file.
type key [32]byte

func newKey() (k key) {
	rand.Read(k[:]) // never fails, see crypto/rand
	return k
}

// id names a key: the first 8 hex digits of its SHA-256.
func (k key) id() string {
	sum := sha256.Sum256(k[:])
	return hex.EncodeToString(sum[:4])
}

// prefix stands before what the key has encrypted.
func (k key) prefix() string { return localPrefix + k.id() + ":" }

// readKeys reads a key file, the key that encrypts first.
func readKeys(path string) (keys []key, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w; put the key file of this center there; for a new center make "+
			"one: openssl rand -base64 32 >%s", err, path)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(b) != len(key{}) || slices.Contains(keys, key(b)) {
			return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
		}
		keys = append(keys, key(b))
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: %w", path, ErrKeyFile)
	}
	return keys, nil
}

// writeKeys replaces a key file as a whole, mode 0600.
func writeKeys(path string, keys []key) error {
	var out bytes.Buffer
	out.WriteString(
		"# The first key encrypts what this center stores, the others still decrypt. Without them Secrets are lost.\n",
	)
	for _, k := range keys {
		fmt.Fprintln(&out, base64.StdEncoding.EncodeToString(k[:]))
	}
	return keyfile.Replace(path, out.Bytes())
}

// MakeKeyFile makes a key file with a new key unless there is one.
func MakeKeyFile(path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return writeKeys(path, []key{newKey()})
}

// transformers returns the transformers of the keys, in their order.
func transformers(keys []key) (out []value.PrefixTransformer) {
	for _, k := range keys {
		out = append(
			out,
			value.PrefixTransformer{Prefix: []byte(k.prefix()), Transformer: secretbox.NewSecretboxTransformer(k)},
		)
	}
	return out
}
