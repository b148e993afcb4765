// Package outbound decides which addresses the center dials because a space asks it to: a webhook's
// URL is written by users, and the center stands where they do not. The address that is dialled is
// judged, after names are resolved, so neither a name that changes its address nor a redirect leads
// around it, and no proxy of the center's environment is used. Without options only public
// addresses are dialled: loopback, link-local with the metadata of clouds, private networks and the
// addresses of the center's own machine are not.
//
//	rules := outbound.New(allowed, denied)
//	err := rules.CheckURL("https://hooks.example.com") // when a user writes it
//	conn, err := rules.DialContext(ctx, "tcp", addr)   // when it is called
//
// It knows nothing of Kubernetes.
package outbound
