package volumes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"skerry.dev/skerry/server/fields"
)

// IsBlock reports whether a claim of a spec, or of a template's, is for a volume without files.
func IsBlock(spec map[string]any) bool {
	return fields.String(spec, "volumeMode") == string(corev1.PersistentVolumeBlock)
}

// IsOnePod reports whether only one Pod at a time may mount what a claim of a spec, or of a template's, is for.
func IsOnePod(spec map[string]any) bool {
	return slices.Contains(fields.List(spec, "accessModes"), any(string(corev1.ReadWriteOncePod)))
}
