package sessions

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/exchange"
)

// attempts bounds how often a join is tried again because somebody else wrote the token or the
// SyncTarget meanwhile.
const attempts = 5

// redeem takes a use of a token and signs the certificate of the site that came with it. The use is
// written down before anything is handed out, by a write that only one can win; a site that lost the
// answer comes again with the same key and gets it once more.
func (srv *Server) redeem(ctx context.Context, r enroll.JoinRequest) (chain []byte, err error) {
	client, err := srv.client()
	if err != nil {
		return nil, err
	}
	for range attempts {
		chain, err = srv.tryRedeem(ctx, client, r)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return chain, err
}

// joining is a join that is let in, as the store was when it was judged.
type joining struct {
	token  *storedToken
	target *unstructured.Unstructured // nil where there is none
	key    string
	name   string            // of the SyncTarget: another one than the site's own, where it was renamed
	labels map[string]string // of the site
}

// tryRedeem fails with a conflict when the token or the SyncTarget is not what it was when it was
// read.
func (srv *Server) tryRedeem(ctx context.Context, client dynamic.Interface, r enroll.JoinRequest) ([]byte, error) {
	j, chain, err := srv.record(ctx, client, r)
	if err != nil {
		return nil, err
	}
	srv.targets.await(ctx, j.name, j.key)
	srv.cfg.Log.Info("a site joined", "target", j.name, "token", j.token.ID)
	return chain, nil
}

// record writes down who joins, one after the other: many sites may join with one token at the same
// time, and each would take its record from the others. Who has no token waits for nobody, and nobody
// for him.
func (srv *Server) record(
	ctx context.Context,
	client dynamic.Interface,
	r enroll.JoinRequest,
) (j joining, chain []byte, err error) {
	if _, err := srv.token(ctx, client, r); err != nil {
		return j, nil, err
	}
	select {
	case srv.joins <- struct{}{}:
	case <-ctx.Done():
		return j, nil, ctx.Err()
	}
	defer func() { <-srv.joins }()
	j, err = srv.judge(ctx, client, r)
	if err != nil {
		return j, nil, err
	}
	token, target := j.token, j.target
	chain, err = srv.cfg.Credentials.Sign(r.CSR, r.Name)
	if err != nil {
		return j, nil, fmt.Errorf("%w: %w", enroll.ErrName, err)
	}
	if _, again := token.used[j.key]; !again {
		if err := token.write(ctx, client, j.key, tokenUse{Name: r.Name}); err != nil {
			return j, nil, err
		}
	}
	if target, err = ensureTarget(ctx, client, j.name, target, j.key, j.labels, token.Labels); err != nil {
		return j, nil, err
	}
	if token.used[j.key].Target == "" {
		err := token.write(ctx, client, j.key, tokenUse{r.Name, target.GetUID()})
		if err != nil && !errors.Is(err, enroll.ErrTokenUnknown) { // revoked at this moment: the site stays joined
			return j, nil, err
		}
	}
	return j, chain, nil
}

// judge says whether a join is let in. It reads the token and the SyncTarget, and changes nothing.
func (srv *Server) judge(ctx context.Context, client dynamic.Interface, r enroll.JoinRequest) (j joining, err error) {
	if j.token, err = srv.token(ctx, client, r); err != nil {
		return j, err
	}
	// The API refuses these names, too, but only after the token is used up.
	switch {
	case r.Name == v1alpha1.RootSpace:
		return j, fmt.Errorf("%w: %s is the space of the center's admin", enroll.ErrName, r.Name)
	case exchange.IsAPIRoot(r.Name):
		return j, fmt.Errorf("%w: /%s begins a path of Kubernetes' API, which follows the names of sites in a URL",
			enroll.ErrName, r.Name)
	}
	if j.key, err = keyOf(r.CSR); err != nil {
		return j, fmt.Errorf("%w: %w", enroll.ErrName, err)
	}
	j.name = srv.targets.holder(r.Name, j.key)
	use, again := j.token.used[j.key]
	if again && use.Name != r.Name || !again && j.token.Spent() {
		return j, enroll.ErrTokenUsed
	}
	j.labels = siteLabels(r.Labels)
	if err := CheckLabels(j.labels); err != nil {
		return j, fmt.Errorf("%w: %w", enroll.ErrLabels, err)
	}
	j.target, err = client.Resource(syncTargets).Get(ctx, j.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		j.target, err = nil, nil
	}
	if err != nil {
		return j, fmt.Errorf("read the SyncTarget: %w", err)
	}
	if j.target == nil {
		// A wish names a site or a Location: whoever joins by the name of one would get all that is meant for it.
		switch _, err := client.Resource(locations).Get(ctx, j.name, metav1.GetOptions{}); {
		case err == nil:
			return j, fmt.Errorf("%w: there is a Location %s, and a wish for that name would mean both", enroll.ErrName, j.name)
		case !apierrors.IsNotFound(err):
			return j, fmt.Errorf("look for a Location of the site's name: %w", err)
		}
	}
	if use.Target != "" && (j.target == nil || j.target.GetUID() != use.Target) {
		return j, enroll.ErrTokenUsed // what it joined was removed: it is no way back
	}
	if j.target != nil && isRevoked(j.target, j.key) {
		return j, enroll.ErrRevoked
	}
	if j.target != nil {
		// Who has a token for many may not take the place of a site whose key an admin has let go, either: it
		// would get all that is placed there.
		key := j.target.GetAnnotations()[v1alpha1.AnnotationKey]
		if key != j.key && (key != "" || j.token.Uses > 1) {
			return j, enroll.ErrNameInUse
		}
	}
	return j, srv.welcomes(j.name, tunnel.Hello{
		Cluster: r.Behind.Cluster, Force: r.Behind.Force, Center: r.Behind.Center,
	})
}

// welcomes refuses a join whose first session would be refused for good: the token would be used up, and
// a target be there that never connects.
func (srv *Server) welcomes(name string, hello tunnel.Hello) error {
	err := srv.loops(name, hello)
	if err == nil {
		srv.mu.Lock()
		err = srv.sameLocked(name, hello)
		srv.mu.Unlock()
	}
	if refused := tunnel.FinalRefusal(err); refused != nil {
		return fmt.Errorf("%w: %s", enroll.ErrNotHere, refused.Message)
	}
	return err
}

// examine says what redeem would, and changes nothing: what `skerry doctor` asks before a join. A
// site that has joined is asked for its key alone, and whoever has not that key learns nothing of
// it, not even whether it exists.
func (srv *Server) examine(ctx context.Context, r enroll.JoinRequest) error {
	client, err := srv.client()
	if err != nil {
		return err
	}
	if r.TokenID != "" {
		_, err = srv.judge(ctx, client, r)
		return err
	}
	key, err := enroll.ProvenKey(r.CSR)
	if err != nil {
		return fmt.Errorf("%w: %w", enroll.ErrName, err)
	}
	target, err := client.Resource(syncTargets).Get(ctx, srv.targets.holder(r.Name, key), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return enroll.ErrUnknownSite
	case err != nil:
		return fmt.Errorf("read the SyncTarget: %w", err)
	case isRevoked(target, key):
		return enroll.ErrRevoked
	case target.GetAnnotations()[v1alpha1.AnnotationKey] != key:
		return enroll.ErrUnknownSite
	}
	return nil
}

// token finds the token of a request and checks secret and time.
func (srv *Server) token(ctx context.Context, client dynamic.Interface, r enroll.JoinRequest) (*storedToken, error) {
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

// write keeps a use in the token's Secret if that is still as it was read: of several, only one can
// win.
func (t *storedToken) write(ctx context.Context, client dynamic.Interface, key string, use tokenUse) error {
	value, err := json.Marshal(use)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": t.secret.ResourceVersion, "uid": t.secret.UID},
		"data":     map[string][]byte{usedPrefix + key: value},
	})
	if err != nil {
		return err
	}
	u, err := client.Resource(
		secrets,
	).Namespace(
		tokenNamespace,
	).Patch(
		ctx,
		t.secret.Name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{},
	)
	if apierrors.IsNotFound(err) {
		return enroll.ErrTokenUnknown
	} else if err != nil {
		return fmt.Errorf("mark the join token as used: %w", err)
	}
	t.secret.ResourceVersion, t.used[key] = u.GetResourceVersion(), use
	return nil
}

// ensureTarget makes the SyncTarget, or gives the existing one, which was read before, the key. A
// site that joins again keeps its place and the labels that it has there; the token's labels count
// in any case.
func ensureTarget(
	ctx context.Context,
	client dynamic.Interface,
	name string,
	existing *unstructured.Unstructured,
	key string,
	fromSite, fromToken map[string]string,
) (*unstructured.Unstructured, error) {
	labels := maps.Clone(fromSite)
	if existing != nil {
		maps.Copy(labels, existing.GetLabels())
	}
	maps.Copy(labels, fromToken)
	var made *unstructured.Unstructured
	var err error
	if existing == nil {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SyncTarget"))
		obj.SetName(name)
		obj.SetLabels(labels)
		obj.SetAnnotations(map[string]string{v1alpha1.AnnotationKey: key})
		made, err = client.Resource(syncTargets).Create(ctx, obj, metav1.CreateOptions{FieldManager: "skerry"})
	} else {
		meta := map[string]any{"labels": labels, "annotations": map[string]string{v1alpha1.AnnotationKey: key},
			"resourceVersion": existing.GetResourceVersion(), "uid": existing.GetUID()}
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"metadata": meta}); err == nil {
			made, err = client.Resource(syncTargets).Patch(ctx, name, types.MergePatchType, patch,
				metav1.PatchOptions{FieldManager: "skerry"})
		}
	}
	if apierrors.IsInvalid(err) {
		return nil, fmt.Errorf("%w: %w", enroll.ErrName, err)
	} else if err != nil {
		return nil, fmt.Errorf("make the SyncTarget: %w", err)
	}
	return made, nil
}

// siteLabels are those of a site's own labels that it may set: none of ours.
func siteLabels(labels map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range labels {
		prefix, _, _ := strings.Cut(k, "/")
		if own := v1alpha1.GroupVersion.Group; prefix != own && !strings.HasSuffix(prefix, "."+own) {
			out[k] = v
		}
	}
	return out
}

// CheckLabels returns which label is none that an object can have.
func CheckLabels(labels map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if errs := slices.Concat(validation.IsQualifiedName(k), validation.IsValidLabelValue(labels[k])); len(
			errs,
		) > 0 {
			return fmt.Errorf("label %s=%s: %s", k, labels[k], strings.Join(errs, "; "))
		}
	}
	return nil
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
	return enroll.Fingerprint(req.RawSubjectPublicKeyInfo), nil
}
