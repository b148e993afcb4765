package scheduler

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/store"
)

// The names of the records of rollouts: rollout-UNIT is the state, and release-UNIT-NUMBER the content of
// one release.
const (
	rolloutPrefix = "rollout-"
	releasePrefix = "release-"
)

// RolloutKey is the key of the state of the rollouts of a unit.
func RolloutKey(space string, id binding.UnitID) store.Key {
	return recordKey(space, rolloutPrefix+string(id))
}

// ReleaseKey is the key of the content of one release of a unit.
func ReleaseKey(space string, id binding.UnitID, number uint64) store.Key {
	return recordKey(space, releaseName(id, number))
}

func releaseName(id binding.UnitID, number uint64) string {
	return releasePrefix + string(id) + "-" + strconv.FormatUint(number, 10)
}

// NamedRollout is what the name of a record of rollouts says it is of: a unit, and one of its releases or 0
// for the state. ok is false for the names of other records.
func NamedRollout(name string) (id binding.UnitID, release uint64, ok bool) {
	if text, is := strings.CutPrefix(name, rolloutPrefix); is {
		return binding.UnitID(text), 0, text != ""
	}
	text, is := strings.CutPrefix(name, releasePrefix)
	at := strings.LastIndexByte(text, '-')
	if !is || at <= 0 {
		return "", 0, false
	}
	release, err := strconv.ParseUint(text[at+1:], 10, 64)
	return binding.UnitID(text[:at]), release, err == nil && release > 0
}

// EncodeRollout is the object of a state.
func EncodeRollout(id binding.UnitID, of v1alpha1.BindingUnit, s rollout.State) ([]byte, error) {
	raw, err := s.Encode()
	if err != nil {
		return nil, err
	}
	return encodeRaw(rolloutPrefix+string(id), of, raw, 0)
}

// EncodeRelease is the object of a packed content.
func EncodeRelease(
	id binding.UnitID, of v1alpha1.BindingUnit, number uint64, packed []byte, objects int,
) ([]byte, error) {
	return encodeRaw(releaseName(id, number), of, packed, objects)
}

func encodeRaw(name string, of v1alpha1.BindingUnit, raw []byte, objects int) ([]byte, error) {
	o := v1alpha1.Binding{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Binding"}}
	o.Name, o.UID = name, types.UID("binding-"+name)
	o.Spec.Unit, o.Spec.Record, o.Spec.Objects = of, raw, int32(objects)
	return json.Marshal(o)
}

// RawRecord reads what the object of a rollout's record has.
func RawRecord(obj map[string]any) (of v1alpha1.BindingUnit, raw []byte, err error) {
	spec := fields.Map(obj, "spec")
	raw, err = base64.StdEncoding.DecodeString(fields.String(spec, "record"))
	if err != nil {
		return of, nil, fmt.Errorf("record %s: %w", fields.String(obj, "metadata", "name"), err)
	}
	return unitIn(spec), raw, nil
}

func unitIn(spec map[string]any) v1alpha1.BindingUnit {
	unit := fields.Map(spec, "unit")
	text := func(field string) string { return strings.Clone(fields.String(unit, field)) }
	return v1alpha1.BindingUnit{
		Group: text("group"), Resource: text("resource"), Namespace: text("namespace"), Name: text("name"),
	}
}
