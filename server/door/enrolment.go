package door

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/enroll"
)

// redeem uses a token up and signs the certificate of the site that came with it. The token is marked before anything is handed out, by a
// write that only one can win; a site that lost the answer comes again with the same key and gets it once more.
func (d *Door) redeem(ctx context.Context, r enroll.JoinRequest) ([]byte, error) {
	client, err := d.client()
	if err != nil {
		return nil, err
	}
	token, err := d.token(ctx, client, r)
	if err != nil {
		return nil, err
	}
	key, err := keyOf(r.CSR)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", enroll.ErrName, err)
	}
	if token.UsedBy != "" && (token.UsedBy != r.Name || token.usedKey != key) {
		return nil, enroll.ErrTokenUsed
	}
	if s := d.session(r.Name); s != nil && s.conn.Peer().Key != key {
		return nil, enroll.ErrNameInUse
	}
	chain, err := d.cfg.Sign(r.CSR, r.Name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", enroll.ErrName, err)
	}
	if token.UsedBy == "" {
		if err := markUsed(ctx, client, token, r.Name, key); err != nil {
			return nil, err
		}
	}
	if err := ensureTarget(ctx, client, r, token.Labels, key); err != nil {
		return nil, err
	}
	d.cfg.Log.Info("a site joined", "target", r.Name, "token", token.ID)
	return chain, nil
}

// token finds the token of a request and checks secret and time.
func (d *Door) token(ctx context.Context, client dynamic.Interface, r enroll.JoinRequest) (*storedToken, error) {
	u, err := client.Resource(secrets).Namespace(tokenNamespace).Get(ctx, tokenPrefix+r.TokenID, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, enroll.ErrTokenUnknown
	} else if err != nil {
		return nil, fmt.Errorf("read the join token: %w", err)
	}
	t, err := readToken(u)
	if err != nil {
		return nil, err
	}
	if t.secret.Type != tokenType || !enroll.SameHash(t.hash, r.SecretHash) {
		return nil, enroll.ErrTokenUnknown
	}
	if time.Now().After(t.Expires) {
		return nil, enroll.ErrTokenExpired
	}
	return t, nil
}

// markUsed is the write that only one site can win: it names the version of the Secret that was read.
func markUsed(ctx context.Context, client dynamic.Interface, t *storedToken, name, key string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": t.secret.ResourceVersion, "uid": t.secret.UID},
		"data":     map[string]any{dataUsedBy: []byte(name), dataUsedKey: []byte(key)},
	})
	if err != nil {
		return err
	}
	_, err = client.Resource(secrets).Namespace(tokenNamespace).Patch(ctx, t.secret.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err):
		return enroll.ErrTokenUsed
	case apierrors.IsNotFound(err):
		return enroll.ErrTokenUnknown
	case err != nil:
		return fmt.Errorf("mark the join token as used: %w", err)
	}
	return nil
}

// ensureTarget makes the SyncTarget, or gives an existing one the new key: a site that joins again keeps its place.
func ensureTarget(ctx context.Context, client dynamic.Interface, r enroll.JoinRequest, fromToken map[string]string, key string) error {
	labels := map[string]any{}
	for k, v := range joined(r.Labels, fromToken) {
		labels[k] = v
	}
	meta := map[string]any{"name": r.Name, "labels": labels, "annotations": map[string]any{annotationKey: key}}
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": meta, "spec": map[string]any{}}}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SyncTarget"))
	_, err := client.Resource(syncTargets).Create(ctx, obj, metav1.CreateOptions{FieldManager: "skerry"})
	if apierrors.IsAlreadyExists(err) {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": meta["annotations"]}}); err == nil {
			_, err = client.Resource(syncTargets).Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "skerry"})
		}
	}
	if apierrors.IsInvalid(err) {
		return fmt.Errorf("%w: %w", enroll.ErrName, err)
	} else if err != nil {
		return fmt.Errorf("make the SyncTarget: %w", err)
	}
	return nil
}

// joined are the labels of a new target: the site's own, but none of ours, and over them the token's.
func joined(fromSite, fromToken map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range fromSite {
		if k != "skerry.dev" && !strings.HasPrefix(k, "skerry.dev/") {
			out[k] = v
		}
	}
	maps.Copy(out, fromToken)
	return out
}

func keyOf(csr []byte) (string, error) {
	block, _ := pem.Decode(csr)
	if block == nil {
		return "", errors.New("not a PEM certificate request")
	}
	req, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(req.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:]), nil
}
