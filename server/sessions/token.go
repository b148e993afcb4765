package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"skerry.dev/skerry/tunnel/enroll"
)

// Join tokens are Secrets in kube-system of root. Only the hash of a token's secret is in them.
const (
	tokenNamespace = "kube-system"
	tokenPrefix    = "skerry-join-token-"
	tokenType      = corev1.SecretType("skerry.dev/join-token")
)

// The keys of the Secret's data.
const (
	dataHash    = "hash"
	dataExpires = "expires"
	dataLabels  = "labels"
	dataUses    = "uses"
	usedPrefix  = "used-" // and the fingerprint of a site's key: a tokenUse as JSON
)

// MaxTokenUses is how many sites one token can join. A use takes 300 bytes of the token's Secret.
const MaxTokenUses = 1000

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// ErrTokenNotFound is returned when there is no token with that id.
var ErrTokenNotFound = errors.New("there is no join token with this id; see them with: skerry token list")

// TokenOptions say what a new token is for.
type TokenOptions struct {
	// Labels will be on the SyncTarget that joins with the token.
	Labels map[string]string
	// TTL is how long the token may be used.
	TTL time.Duration
	// Uses is how many sites it joins, 1 to MaxTokenUses; 0 means 1.
	Uses int
}

// TokenInfo is what is known of a token.
type TokenInfo struct {
	ID      string
	Expires time.Time
	Labels  map[string]string
	// Uses is how many sites it joins.
	Uses int
	// UsedBy are the names with which sites have joined, in order.
	UsedBy []string
}

// Spent reports whether the token has joined as many sites as it may.
func (t TokenInfo) Spent() bool { return len(t.UsedBy) >= t.Uses }

// tokenUse is a site that has joined with a token.
type tokenUse struct {
	Name   string    `json:"name"`
	Target types.UID `json:"target,omitempty"` // of its SyncTarget, once there is one
}

// CreateToken makes a join token and returns its text, which is kept nowhere. The configuration is
// of the root space and holds the center's CA.
func CreateToken(ctx context.Context, root *rest.Config, o TokenOptions) (string, error) {
	if o.TTL <= 0 {
		return "", errors.New("the token's TTL must be greater than 0")
	}
	uses := cmp.Or(o.Uses, 1)
	if uses < 1 || uses > MaxTokenUses {
		return "", fmt.Errorf("a token joins 1 to %d sites, and not %d", MaxTokenUses, uses)
	}
	if err := CheckLabels(o.Labels); err != nil {
		return "", err
	}
	pin, err := pinOf(root)
	if err != nil {
		return "", err
	}
	client, err := dynamic.NewForConfig(root)
	if err != nil {
		return "", err
	}
	token := enroll.NewToken(pin)
	labels, err := json.Marshal(o.Labels)
	if err != nil {
		return "", err
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: tokenPrefix + token.ID, Namespace: tokenNamespace},
		Type:       tokenType,
		Data: map[string][]byte{dataHash: []byte(token.Hash()), dataLabels: labels,
			dataUses:    []byte(strconv.Itoa(uses)),
			dataExpires: []byte(time.Now().Add(o.TTL).UTC().Format(time.RFC3339))},
	}
	obj, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return "", err
	}
	_, err = client.Resource(
		secrets,
	).Namespace(
		tokenNamespace,
	).Create(
		ctx,
		&unstructured.Unstructured{Object: obj},
		metav1.CreateOptions{},
	)
	if err != nil {
		return "", fmt.Errorf("create the join token: %w", err)
	}
	return token.String(), nil
}

// ListTokens returns the tokens, the last to expire last. With an error come those that could be
// read.
func ListTokens(ctx context.Context, root *rest.Config) ([]TokenInfo, error) {
	client, err := dynamic.NewForConfig(root)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(
		secrets,
	).Namespace(
		tokenNamespace,
	).List(
		ctx,
		metav1.ListOptions{FieldSelector: "type=" + string(tokenType)},
	)
	if err != nil {
		return nil, fmt.Errorf("list join tokens: %w", err)
	}
	var out []TokenInfo
	var errs []error
	for _, item := range list.Items {
		if !strings.HasPrefix(item.GetName(), tokenPrefix) {
			continue // nothing looks for it under this name
		}
		t, err := readToken(&item)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, t.TokenInfo)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Expires.Before(out[j].Expires) })
	return out, errors.Join(errs...)
}

// RevokeToken makes a token useless. A site that joined with it stays joined.
func RevokeToken(ctx context.Context, root *rest.Config, id string, dryRun bool) error {
	client, err := dynamic.NewForConfig(root)
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	err = client.Resource(secrets).Namespace(tokenNamespace).Delete(ctx, tokenPrefix+id, options)
	if apierrors.IsNotFound(err) {
		return ErrTokenNotFound
	}
	return err
}

// storedToken is a token as its Secret holds it.
type storedToken struct {
	TokenInfo
	hash   string
	used   map[string]tokenUse // by the fingerprint of the site's key
	secret *corev1.Secret
}

func readToken(u *unstructured.Unstructured) (*storedToken, error) {
	var s corev1.Secret
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
		return nil, fmt.Errorf("read join token %s: %w", u.GetName(), err)
	}
	t := &storedToken{hash: string(s.Data[dataHash]), used: map[string]tokenUse{}, secret: &s}
	t.ID = strings.TrimPrefix(s.Name, tokenPrefix)
	var err error
	if t.Expires, err = time.Parse(time.RFC3339, string(s.Data[dataExpires])); err != nil {
		return nil, fmt.Errorf("read join token %s: %w", t.ID, err)
	}
	if len(s.Data[dataUses]) == 0 {
		return nil, fmt.Errorf("join token %s was made by an earlier version: %w", t.ID, enroll.ErrTokenUnknown)
	}
	if t.Uses, err = strconv.Atoi(string(s.Data[dataUses])); err != nil {
		return nil, fmt.Errorf("read join token %s: uses: %w", t.ID, err)
	}
	for name, raw := range s.Data {
		key, ok := strings.CutPrefix(name, usedPrefix)
		if !ok {
			continue
		}
		var use tokenUse
		if err := json.Unmarshal(raw, &use); err != nil {
			return nil, fmt.Errorf("read join token %s: %s: %w", t.ID, name, err)
		}
		t.used[key] = use
		t.UsedBy = append(t.UsedBy, use.Name)
	}
	slices.Sort(t.UsedBy)
	if raw := s.Data[dataLabels]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &t.Labels); err != nil {
			return nil, fmt.Errorf("read join token %s: labels: %w", t.ID, err)
		}
	}
	return t, nil
}

// pinOf is the pin of the center's CA, taken from a client configuration.
func pinOf(config *rest.Config) (string, error) {
	certs, err := cert.ParseCertsPEM(config.CAData)
	if err != nil && config.CAFile != "" {
		certs, err = cert.CertsFromFile(config.CAFile)
	}
	if err != nil {
		return "", fmt.Errorf("the kubeconfig holds no CA certificate of the center, which the token must pin: %w", err)
	}
	return enroll.Fingerprint(certs[0].RawSubjectPublicKeyInfo), nil
}
