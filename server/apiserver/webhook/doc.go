// Package webhook calls webhooks for a space: as nobody, and only where the space may reach.
// Admission webhooks and converters of custom resources are called this way.
//
//	callers := webhook.New(config)
//	wrapper := callers.For("shop")    // for upstream's resolver of credentials
//	resolver := callers.Resolver()    // for upstream's resolver of Services
//
// A webhook by URL is called at the addresses of package outbound. A webhook by Service is a Pod of
// the space at a site. The life of a call:
//
//  1. [Services] says which ready Pods are behind the Service now. The nearest site comes first.
//  2. A kept connection to such a Pod is used, or one is made: a stream to the site, whose agent
//     connects to the port of that very Pod. TLS goes end to end, with the configuration's caBundle
//     and the name SERVICE.NAMESPACE.svc.
//  3. A site that does not answer is left for the next one, as long as nothing was sent.
//  4. Answers are bounded, and redirects are errors.
//
// Connections are kept by space, Service and caBundle, and for 90 s after their last call: a
// handshake costs two round trips more than a call.
package webhook
