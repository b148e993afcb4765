package server

import (
	"context"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/webhook"
)

// webhooks returns the figures of calls to webhooks, which the center shows.
func (s *Server) webhooks() *webhook.Metrics {
	m := webhook.NewMetrics()
	s.metrics.Part("center").MustRegister(m)
	return m
}

// callHook calls a webhook that runs before a target is left. The API is made after the delivery that
// calls it.
func (s *Server) callHook(
	ctx context.Context,
	space string,
	hook *v1alpha1.WebhookHook,
	key string,
	body []byte,
) (int, string, error) {
	return s.api.CallHook(ctx, space, hook, key, body)
}
