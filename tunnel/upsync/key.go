package upsync

import (
	"strings"

	"skerry.dev/skerry/store"
)

// Key is the key under which an object is reported.
func Key(k store.Key) store.Key {
	if k.Group != "" {
		k.Resource += "." + k.Group
	}
	k.Group = store.UpsyncGroup
	return k
}

// Object undoes Key. It tells false for the keys of other reports.
func Object(k store.Key) (store.Key, bool) {
	if k.Group != store.UpsyncGroup {
		return store.Key{}, false
	}
	k.Resource, k.Group, _ = strings.Cut(k.Resource, ".")
	return k, true
}

// RuleKey is the key of the Upsync of a Placement.
func RuleKey(space, placement string) store.Key {
	return store.Key{Space: space, Group: store.RulesGroup, Resource: store.UpsyncsResource, Name: placement}
}
