// Package webhook calls webhooks for a space: as nobody, and only at addresses that the center
// connects to for a space (package outbound). Admission webhooks and converters of custom resources
// are called this way.
//
//	callers := webhook.Callers(rules) // a wrapper for upstream's resolver of credentials
package webhook
