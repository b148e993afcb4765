package wellknown

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/apiserver/metadata"
)

// knownPage is the continue token of a page that ends among the well-known objects, which precede
// the stored ones. Later tokens are those of the storage.
type knownPage struct {
	Kind string `json:"v"`
	// After is the name of the last object that was shown.
	After string `json:"after"`
	// Revision is that of the first page. Later pages show the stored objects as of it.
	Revision string `json:"rv"`
}

const knownPageKind = "skerry.dev/known"

func (p knownPage) token() (string, error) {
	p.Kind = knownPageKind
	text, err := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// parseKnownPage returns false for a token of the storage, and for an invalid token, which the
// storage refuses.
func parseKnownPage(token string) (p knownPage, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	return p, err == nil && json.Unmarshal(text, &p) == nil && p.Kind == knownPageKind
}

// page lists with a limit, beginning after the given object.
func (s *Storage) page(ctx context.Context, o *internalversion.ListOptions, from knownPage) (runtime.Object, error) {
	all, err := s.shown(ctx, o)
	if err != nil {
		return nil, err
	}
	var items []runtime.Object
	more := false
	for _, obj := range all {
		if obj.GetName() <= from.After {
			continue
		}
		if more = int64(len(items)) == o.Limit; more {
			break
		}
		items = append(items, obj)
	}
	full := int64(len(items)) == o.Limit
	rest := o.DeepCopy()
	rest.Continue, rest.Limit = "", max(1, o.Limit-int64(len(items))) // a full page asks for one to learn the revision
	if from.Revision != "" {
		rest.ResourceVersion, rest.ResourceVersionMatch = from.Revision, metav1.ResourceVersionMatchExact
	}
	list, err := s.Stored.List(ctx, rest)
	if err != nil {
		return nil, err
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	stored, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	switch {
	case !full:
		return list, meta.SetList(list, append(items, stored...))
	case !more && len(stored) == 0:
		return list, meta.SetList(list, items)
	}
	next, err := knownPage{
		After:    metadata.Of(items[len(items)-1]).GetName(),
		Revision: about.GetResourceVersion(),
	}.token()
	if err != nil {
		return nil, err
	}
	about.SetContinue(next)
	about.SetRemainingItemCount(nil)
	return list, meta.SetList(list, items)
}
