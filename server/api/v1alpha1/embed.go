package v1alpha1

import "embed"

// CRDs holds the CustomResourceDefinitions of this package's kinds, as generated: crds/*.yaml.
//
//go:embed crds/*.yaml
var CRDs embed.FS
