package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/accounttokens"
	"skerry.dev/skerry/server/apiserver"
)

// secretTokens has the kube API sign the tokens of Secrets. The API is made after what asks it.
type secretTokens struct{ api func() *apiserver.Server }

// SecretToken implements accounttokens.Issuer.
func (t secretTokens) SecretToken(ctx context.Context, account, secret accounttokens.Identity) (string, error) {
	return t.api().SecretToken(ctx, account.Key.Space, metaOf(account), metaOf(secret))
}

func metaOf(id accounttokens.Identity) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: id.Key.Namespace, Name: id.Key.Name, UID: types.UID(id.UID)}
}
