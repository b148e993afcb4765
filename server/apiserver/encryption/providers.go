package encryption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// secrets is what a key file encrypts.
var secrets = schema.GroupResource{Resource: "secrets"}

// readRaw are resources that the center reads as they are stored.
var readRaw = []schema.GroupResource{
	{Group: "skerry.dev", Resource: "*"},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
	{Group: "rbac.authorization.k8s.io", Resource: "*"},
	{Group: "admissionregistration.k8s.io", Resource: "*"},
	{Group: "batch", Resource: "jobs"},
	{Resource: "namespaces"},
}

// ErrResource is returned for an EncryptionConfiguration that names what cannot be encrypted.
var ErrResource = errors.New("the center reads this resource as it is stored; name others, without wildcards")

// providers are what one EncryptionConfiguration says.
type providers struct {
	of     map[schema.GroupResource]value.Transformer
	health []healthz.HealthChecker
}

// readProviders reads an EncryptionConfiguration. What it starts, to talk to a KMS, ends with ctx.
func readProviders(ctx context.Context, path string) (p providers, err error) {
	if path == "" {
		return p, nil
	}
	config, err := encryptionconfig.LoadEncryptionConfig(ctx, path, false, "skerry")
	if err != nil {
		return p, fmt.Errorf("--encryption-provider-config: %w; it must be an EncryptionConfiguration of "+
			"apiserver.config.k8s.io/v1", err)
	}
	for gr := range config.Transformers {
		raw := slices.ContainsFunc(readRaw, func(r schema.GroupResource) bool {
			return r.Group == gr.Group && (r.Resource == "*" || r.Resource == gr.Resource)
		})
		if raw || gr.Resource == "*" || gr.Group == "*" {
			return p, fmt.Errorf("--encryption-provider-config %s: %s: %w", path, gr, ErrResource)
		}
	}
	return providers{config.Transformers, config.HealthChecks}, nil
}

// state is how values are encrypted at a moment. It never changes.
type state struct {
	keys  []key // of the key file
	local value.Transformer
	providers
}

// plain reads and writes values as they are, and refuses to read encrypted ones.
var plain = identity.NewEncryptCheckTransformer()

func newState(keys []key, p providers) *state {
	all := append(transformers(keys), value.PrefixTransformer{Transformer: plain})
	return &state{keys: keys, local: value.NewPrefixTransformers(errNoKey, all...), providers: p}
}

// errNoKey is why a value cannot be read.
var errNoKey = errors.New("no key that this center has was used to encrypt this value")

// encrypted lists the resources that are encrypted.
func (s *state) encrypted() (out []schema.GroupResource) {
	for gr := range s.of {
		out = append(out, gr)
	}
	if s.of[secrets] == nil {
		out = append(out, secrets)
	}
	slices.SortFunc(
		out,
		func(a, b schema.GroupResource) int { return bytes.Compare([]byte(a.String()), []byte(b.String())) },
	)
	return out
}

// transformer is that of a resource.
func (s *state) transformer(gr schema.GroupResource) value.Transformer {
	configured := s.of[gr]
	switch {
	case configured == nil && gr == secrets:
		return s.local
	case configured == nil:
		return plain
	case gr == secrets && len(s.keys) > 0:
		return moved{configured, s}
	default:
		return configured
	}
}

// moved reads what keys of the key file have encrypted before an EncryptionConfiguration took over.
type moved struct {
	value.Transformer
	before *state
}

// TransformFromStorage implements value.Read.
func (m moved) TransformFromStorage(ctx context.Context, data []byte, dc value.Context) ([]byte, bool, error) {
	for _, k := range m.before.keys {
		if bytes.HasPrefix(data, []byte(k.prefix())) {
			out, _, err := m.before.local.TransformFromStorage(ctx, data, dc)
			return out, true, err
		}
	}
	return m.Transformer.TransformFromStorage(ctx, data, dc)
}
