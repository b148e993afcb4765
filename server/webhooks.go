package server

import "skerry.dev/skerry/server/apiserver/webhook"

// webhooks returns the figures of calls to webhooks, which the center shows.
func (s *Server) webhooks() *webhook.Metrics {
	m := webhook.NewMetrics()
	s.metrics.Part("center").MustRegister(m)
	return m
}
