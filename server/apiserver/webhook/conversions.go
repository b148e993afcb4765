package webhook

import (
	"k8s.io/apiserver/pkg/util/webhook"
)

// Converters is For, for the webhooks that convert the custom resources of a space's definitions.
func (c *Callers) Converters(space string) webhook.AuthenticationInfoResolverWrapper {
	return c.For(space)
}
