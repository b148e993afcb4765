package rollout

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"skerry.dev/skerry/store"
)

func TestWhatIsStoredIsChecked(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `{"default":1,"releases":[{"n":1}]}`, `{"default":2,"releases":[{"n":1,"proven":true}]}`,
		`{"default":1,"releases":[{"n":1,"proven":true},{"n":1}]}`,
		`{"default":1,"releases":[{"n":1,"proven":true}],"targets":[{"uid":"a","release":2}]}`,
		`{"default":1,"releases":[{"n":1,"proven":true}],"targets":[{"uid":"b","release":1},{"uid":"a","release":1}]}`,
	} {
		if s, err := Decode([]byte(text)); !errors.Is(err, ErrStored) {
			t.Errorf("%s is %+v (%v)", text, s, err)
		}
	}
	content := Content{Objects: []Object{{Key: store.Key{Name: "b"}, Body: []byte(`{"a":1}`)}, {Key: store.Key{Name: "a"},
		Body: []byte(`{}`), Joined: true, UID: "u"}}}
	packed, err := content.Pack()
	if err != nil {
		t.Fatal(err)
	}
	is, err := Unpack(packed)
	if err != nil || !reflect.DeepEqual(is, content) || is.Objects[0].Key.Name != "a" {
		t.Errorf("%+v, %v", is, err)
	}
	if _, err := Unpack(packed[:len(packed)-1]); !errors.Is(err, ErrStored) {
		t.Error(err)
	}
}

// What does not fit into a value of the store is refused.
func TestALargeReleaseIsRefused(t *testing.T) {
	noise := make([]byte, MaxStored)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.UintN(256))
	}
	body, err := json.Marshal(map[string]any{"data": noise})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Content{Objects: []Object{{Body: body}}}).Pack(); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, err := Unpack(make([]byte, MaxStored+1)); !errors.Is(err, ErrStored) {
		t.Error(err)
	}
}

// A content that is so small that the compressor does not note its size can be read, too.
func TestSmallContentsAreRead(t *testing.T) {
	for _, c := range []Content{{}, {Objects: []Object{{Key: store.Key{Resource: "r", Name: "n"}, Body: []byte(`{}`)}}}} {
		packed, err := c.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if is, err := Unpack(packed); err != nil || len(is.Objects) != len(c.Objects) {
			t.Errorf("%d objects: %+v, %v", len(c.Objects), is, err)
		}
	}
}
