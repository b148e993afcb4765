package store

// RulesGroup and RulesResource are the kind of Customizers, which say how a target renders what it
// gets. UpsyncsResource is that of Upsyncs, which say what it brings back.
const (
	RulesGroup      = "skerry.dev"
	RulesResource   = "customizers"
	UpsyncsResource = "upsyncs"
)

// UpsyncGroup is the group in the keys of reports about objects that were born at a target and come
// into their space, see tunnel/upsync.
const UpsyncGroup = "upsync.skerry.dev"

// ValuesKey is the entry of a desired feed that tells a target its own name, labels and properties.
// It is of no space, and no object.
var ValuesKey = Key{Group: RulesGroup, Resource: "targetvalues", Name: "self"}

// IsCustomizer reports whether a key is that of a Customizer.
func (k Key) IsCustomizer() bool { return k.Group == RulesGroup && k.Resource == RulesResource }

// IsUpsync reports whether a key is that of an Upsync.
func (k Key) IsUpsync() bool { return k.Group == RulesGroup && k.Resource == UpsyncsResource }

// Renders reports whether an entry says how others are rendered.
func (k Key) Renders() bool { return k.IsCustomizer() || k == ValuesKey }

// isRule reports whether an entry says something about others.
func (k Key) isRule() bool { return k.Renders() || k.IsUpsync() }
