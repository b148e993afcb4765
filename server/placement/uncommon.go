package placement

import (
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/store"
)

// Uncommon are the names of a claim, or of templates of a StatefulSet, whose volumes are not copied as others are.
// Empty is none. One of each tells enough.
type Uncommon struct {
	Block  string // it has no files
	OnePod string // only one Pod at a time may mount it
}

// UncommonVolumes says it of an object; it is none of any other kind.
func UncommonVolumes(k store.Key, obj map[string]any) (is Uncommon) {
	switch {
	case k.Group == "" && k.Resource == "persistentvolumeclaims":
		is.add(k.Name, fields.Map(obj, "spec"))
	case k.Group == "apps" && k.Resource == "statefulsets":
		for t := range fields.Maps(fields.Map(obj, "spec"), "volumeClaimTemplates") {
			is.add(fields.Clone(t, "metadata", "name"), fields.Map(t, "spec"))
		}
	}
	return is
}

func (is *Uncommon) add(name string, spec map[string]any) {
	if volumes.IsBlock(spec) {
		is.Block = name
	}
	if volumes.IsOnePod(spec) {
		is.OnePod = name
	}
}
