package store_test

import (
	"testing"

	"skerry.dev/skerry/store"
)

func TestErasShared(t *testing.T) {
	const first, second, third, other = 11, 12, 13, 99
	eras := store.Eras{{Era: first, From: 0}, {Era: second, From: 100}, {Era: third, From: 150}}
	for _, c := range []struct {
		era  store.Era
		head int64
		want int64
		why  string
	}{
		{third, 160, 160, "the era of now is shared as far as it has got"},
		{second, 160, 150, "an era before is shared up to the start of the next"},
		{first, 160, 100, "a backup was taken while the era went on: what came after the copy " +
			"is not shared"},
		{other, 1000, store.NotShared, "an era that the backup does not know"},
		{0, 160, 160, "a receiver from before there were eras"},
		{first, 90, 90, "never more than there is"},
	} {
		if got := eras.Shared(c.era, c.head); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
	if got := (store.Eras)(nil).Shared(other, 7); got != 7 {
		t.Errorf("a sender without eras shares up to %d, want 7", got)
	}
}

func TestPositionText(t *testing.T) {
	p := store.Position{Incarnation: store.NewIncarnation(), Era: store.NewEra(),
		Revision: store.Comparing}
	text, err := p.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var back store.Position
	if err := back.UnmarshalText(text); err != nil || back != p {
		t.Errorf("%s came back as %+v, %v", text, back, err)
	}
	for _, bad := range []string{"", "x", string(text[1:]), string(text) + "x", "00@1",
		p.Incarnation.String() + "/1"} {
		if err := back.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if back != p {
		t.Error("a bad text changed the position")
	}
}
