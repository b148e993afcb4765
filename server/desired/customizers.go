package desired

import (
	"bytes"
	"context"
	"encoding/json"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/store"
)

// Customizers go wherever anything of their space is, before it. A target that has one also has its
// own values. See package variant.

// settleCustomizers has the Customizers of a space follow where the space is.
func (s *step) settleCustomizers(sp *catalog.Space) {
	for o := range sp.Customizers {
		s.settle(o, false)
	}
}

// values takes over what a target is known by, and tells it to a target that has Customizers.
func (s *step) values(name string, t *catalog.Target, obj map[string]any) {
	body, err := json.Marshal(customize.Values(obj))
	if err != nil {
		s.st.cfg.Log.Error("values of a target are not understood", "target", name, "err", err)
		return
	}
	if same := bytes.Equal(body, t.Values); same {
		return
	}
	if t.Values = body; t.Valued {
		s.changes[name] = append(s.changes[name], t.ValuesChange())
	}
}

// bodyFor is the store.BodyFunc of a target's feed: body, and the target's own values.
func (st *State) bodyFor(t *catalog.Target) store.BodyFunc {
	return func(ctx context.Context, k store.Key) ([]byte, int64, error) {
		if k != store.ValuesKey {
			if body, generation, ok, err := st.releasedBody(k, t.Name); ok || err != nil {
				return body, generation, err
			}
			return st.bodyAt(ctx, k, t.Name)
		}
		st.catalog.RLock()
		defer st.catalog.RUnlock()
		return t.Values, 0, nil
	}
}
