package storage

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"skerry.dev/skerry/server/apiserver/encryption"
)

// Encryption encrypts and decrypts the values of the store, by resource.
type Encryption interface {
	value.ResourceTransformers
	// Decrypt returns a stored value as it was before it was encrypted.
	Decrypt(ctx context.Context, gr schema.GroupResource, key, data []byte) ([]byte, error)
}

var _ Encryption = (*encryption.Encryption)(nil)

// Unencrypted is the Encryption that stores everything as it is.
type Unencrypted struct{}

// TransformerForResource implements value.ResourceTransformers.
func (Unencrypted) TransformerForResource(schema.GroupResource) value.Transformer {
	return identity.NewEncryptCheckTransformer()
}

// Decrypt implements Encryption.
func (Unencrypted) Decrypt(_ context.Context, _ schema.GroupResource, _, data []byte) ([]byte, error) {
	return data, nil
}
