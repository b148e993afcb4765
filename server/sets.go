package server

import (
	"log/slog"

	"skerry.dev/skerry/server/clusterset"
	"skerry.dev/skerry/server/services"
	"skerry.dev/skerry/store"
)

// sets are the sets of spaces, whose exports services looks up.
type sets struct{ *clusterset.Controller }

func newSets(api clusterset.API, log *slog.Logger) *sets {
	return &sets{clusterset.New(clusterset.Config{API: api, Log: log.With("part", "sets of spaces")})}
}

// imports implements services.Config.Imports.
func (s *sets) imports(k store.Key) (service string, all []services.Offer, is bool) {
	service, offers, is := s.Imports(k)
	for _, o := range offers {
		all = append(all, services.Offer(o))
	}
	return service, all, is
}
