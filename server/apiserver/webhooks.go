package apiserver

import (
	"context"

	"skerry.dev/skerry/server/api/v1alpha1"
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

// CallHook calls a webhook of a space that runs before a target is left, see v1alpha1.MoveHook. It
// returns the status of the answer and the beginning of its text.
func (s *Server) CallHook(
	ctx context.Context,
	space string,
	hook *v1alpha1.WebhookHook,
	key string,
	body []byte,
) (int, string, error) {
	to := webhook.Endpoint{CABundle: hook.CABundle}
	if hook.URL != nil {
		to.URL = *hook.URL
	}
	if of := hook.Service; of != nil {
		to.Service = &webhook.Service{Space: space, Namespace: of.Namespace, Name: of.Name, Port: of.Port}
		to.Path = of.Path
	}
	return s.webhooks.Post(ctx, to, key, body)
}
