package server

import (
	"cmp"
	"fmt"
	"slices"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// reportWithheld tells a space, as an Event of the Namespace, that a site has not deleted what is
// deleted here. A site has no word in a space of which nothing is, or was lately, placed there.
func (s *Server) reportWithheld(target string, in tunnel.WithheldIn) {
	feed := s.delivery.Feed(target)
	if feed == nil ||
		!slices.ContainsFunc(feed.Since(0, 0), func(e store.Entry) bool { return e.Key.Space == in.Space }) {
		return
	}
	name := cmp.Or(in.Namespace, "default")
	s.summary.Event(placement.Event{
		Key: store.Key{
			Space:    in.Space,
			Resource: "namespaces",
			Name:     name,
		}, APIVersion: "v1", Kind: "Namespace", Warning: true, Reason: tunnel.DeletionsHeld,
		Message: fmt.Sprintf(
			"site %s still has %d objects that are deleted here: nobody asked for their deletion by name, and they are "+
				"too many to be no mistake; "+
				"they go when an admin of the center confirms it (skerry target accept %s), or delete them by name",
			target,
			in.Deletions,
			target,
		)})
}
