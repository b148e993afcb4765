package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/utils/lru"
)

const (
	// maxConverters is how many group versions' schemas are kept. Each takes about a megabyte.
	maxConverters = 32
	// schemaTime is how long a schema of custom resources is kept, as upstream keeps it.
	schemaTime = 5 * time.Second
)

// converters cache the schemas by which mutating policies merge. Built-in kinds have one for all
// spaces, custom resources one for each space.
type converters struct {
	loopback func(space string) *rest.Config
	known    *lru.Cache
}

type converterKey struct {
	space string // "" for built-in kinds
	gv    schema.GroupVersion
}

type converter struct {
	is    managedfields.TypeConverter
	until time.Time // zero for ever
}

func newConverters(loopback func(string) *rest.Config) *converters {
	return &converters{loopback, lru.New(maxConverters)}
}

// in returns the converters for a request in a space.
func (c *converters) in(ctx context.Context, space string) patch.TypeConverterManager {
	return requestConverters{c, ctx, space}
}

type requestConverters struct {
	*converters
	ctx   context.Context
	space string
}

// Run implements patch.TypeConverterManager. There is nothing to run.
func (requestConverters) Run(context.Context) {}

// GetTypeConverter implements patch.TypeConverterManager. It returns nil if the schema cannot be
// read, which the caller reports.
func (r requestConverters) GetTypeConverter(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	key := converterKey{r.space, gvk.GroupVersion()}
	native := scheme.Scheme.IsVersionRegistered(key.gv)
	if native {
		key.space = ""
	}
	if have, ok := r.known.Get(key); ok {
		if c := have.(converter); c.until.IsZero() || time.Now().Before(c.until) {
			return c.is
		}
	}
	is, err := r.fetch(key.gv)
	if err != nil {
		klog.ErrorS(err, "No schema for a mutating admission policy", "space", r.space, "groupVersion", key.gv)
		return nil
	}
	c := converter{is: is}
	if !native {
		c.until = time.Now().Add(schemaTime)
	}
	r.known.Add(key, c)
	return is
}

func (r requestConverters) fetch(gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	client, err := discovery.NewDiscoveryClientForConfig(r.loopback(r.space))
	if err != nil {
		return nil, err
	}
	path := "/openapi/v3/apis/" + gv.String()
	if gv.Group == "" {
		path = "/openapi/v3/api/" + gv.Version
	}
	body, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(r.ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var doc spec3.OpenAPI
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, fmt.Errorf("decode %s: %w", path, err)
	}
	if doc.Components == nil {
		return nil, fmt.Errorf("%s has no schemas", path)
	}
	return managedfields.NewTypeConverter(doc.Components.Schemas, false)
}
