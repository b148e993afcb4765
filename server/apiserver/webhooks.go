package apiserver

import (
	"skerry.dev/skerry/server/apiserver/backends"
	"skerry.dev/skerry/server/apiserver/webhook"
)

// newWebhooks makes what calls the webhooks of spaces.
func (s *Server) newWebhooks(behind *backends.Finder) *webhook.Callers {
	c := webhook.Config{
		Outbound: s.config.Outbound, Services: behind, RTT: s.config.RTT,
		Metrics: s.config.WebhookMetrics,
	}
	if s.config.Sites != nil {
		c.Sites = s.config.Sites
	}
	return webhook.New(c)
}
