package server

import (
	"log/slog"

	"skerry.dev/skerry/server/clusterset"
	"skerry.dev/skerry/server/services"
	"skerry.dev/skerry/store"
)

// sets are the sets of spaces, whose exports services looks up. Of what a parent has sent only that knows the set.
type sets struct {
	*clusterset.Controller
	above exported
}

// exported is delivery.ExportedOf.
type exported = func(k store.Key) (service string, all map[store.Key]string, is bool)

func newSets(api clusterset.API, above exported, log *slog.Logger) *sets {
	return &sets{clusterset.New(clusterset.Config{API: api, Log: log.With("part", "sets of spaces")}), above}
}

// imports implements services.Config.Imports.
func (s *sets) imports(k store.Key) (service string, all []services.Offer, is bool) {
	service, offers, is := s.Imports(k)
	if !is {
		service, known, is := s.above(k)
		for k, uid := range known {
			all = append(all, services.Offer{Key: k, UID: uid})
		}
		return service, all, is
	}
	for _, o := range offers {
		all = append(all, services.Offer(o))
	}
	return service, all, is
}
