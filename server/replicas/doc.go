// Package replicas carries requests for Pods from a replica of a center that stands by to the one
// that leads, which alone has the sessions of sites.
//
// A request takes a connection of its own: TLS between two replicas (ALPN skerry-replica/1), one
// stream of a multiplexer (tunnel/mux), and one exchange (tunnel/exchange) whose path begins with
// the target. Either side notices within 9 s that the other one has gone without a word. Who passes
// a request on has authenticated, authorized and audited the client and has made the request from
// the mirrored Pod. Who receives it hands it to the sessions, never to the kube API, and never
// passes it on again.
//
//	r := replicas.New(replicas.Config{Listener: port.Replicas(), TLS: identity.Client,
//		Leader: leader, Here: streams.Here})
//	go r.Run(ctx)                          // every replica; one that stands by answers that it does
//	resp, err := r.Do(ctx, "oslo", request) // a replica that stands by
package replicas
