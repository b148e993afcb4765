package restore

import (
	"context"
	"errors"
	"testing"

	"skerry.dev/skerry/store"
)

func TestAllows(t *testing.T) {
	center := store.NewIncarnation()
	for _, c := range []struct {
		name          string
		there         There
		without, with error
	}{
		{"empty", There{}, nil, nil},
		{"a center", There{Incarnation: &center, Keys: 3}, ErrNotEmpty, nil},
		{"a center without keys", There{Incarnation: &center}, ErrNotEmpty, nil},
		{"another program", There{Keys: 1}, ErrForeign, ErrForeign},
		{"another program beside a center", There{Incarnation: &center, Foreign: true}, ErrForeign, ErrForeign},
		{"half", There{Unfinished: true, Keys: 7}, ErrUnfinished, nil},
		{"half of a center", There{Unfinished: true, Incarnation: &center}, ErrUnfinished, nil},
	} {
		if err := c.there.Allows(false); !errors.Is(err, c.without) {
			t.Errorf("%s: %v, want %v", c.name, err, c.without)
		}
		if err := c.there.Allows(true); !errors.Is(err, c.with) {
			t.Errorf("%s, to be replaced: %v, want %v", c.name, err, c.with)
		}
	}
}

type copied struct{ eras store.Eras }

func (copied) Incarnation() store.Incarnation                  { return store.Incarnation{} }
func (copied) Revision() int64                                 { return 70 }
func (c copied) Eras() store.Eras                              { return c.eras }
func (copied) Len() int                                        { return 0 }
func (copied) Each(_ context.Context, _ func(Key) error) error { return nil }

// A site that saw a later write than the copy's has another history from there on, wherever the
// replicas' own era begins.
func TestErasOfARestore(t *testing.T) {
	known := store.Eras{{Era: 1, From: 0}, {Era: 2, From: 50}}
	got := append(Eras(copied{known}), store.EraStart{Era: 9, From: 400})
	if shared := got.Shared(2, 500); shared != 70 {
		t.Errorf("up to %d is shared with the era in which the copy was made, want 70", shared)
	}
	if shared := got.Shared(1, 500); shared != 50 {
		t.Errorf("up to %d is shared with the era before, want 50", shared)
	}
	if len(known) != 2 || len(Eras(copied{})) != 1 {
		t.Error("the eras of the copy are changed")
	}
}
