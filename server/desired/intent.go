package desired

import (
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// deletion takes a record of a deletion that was asked for, or its end.
func (s *step) deletion(w store.Write) {
	a := &s.st.catalog.Asked
	if w.Object == nil {
		if k, ok := a.Keys[w.Key.Name]; ok {
			delete(a.Keys, w.Key.Name)
			if a.UIDs[k] == w.Key.Name {
				delete(a.UIDs, k)
			}
		}
		return
	}
	var record struct {
		Key store.Key `json:"key"`
	}
	if !s.st.decode(w, &record) || len(a.UIDs) >= catalog.MaxIntents {
		return
	}
	a.UIDs[record.Key], a.Keys[w.Key.Name] = w.Key.Name, record.Key
}
