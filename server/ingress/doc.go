// Package ingress is the center's own entry from outside. It serves Ingresses of the class that spaces call skerry, at
// an address that stays whatever moves.
//
//		c := ingress.New(ingress.Config{Connect: services.Answer, Reaches: reaches, Address: "192.0.2.1"})
//		c.Serve(ctx, listeners)
//
//	 1. The Controller follows Spaces, whose spec.hosts grants hosts, and Ingresses of the class. It reads the Services
//	    and Secrets that these name, and makes a Table of them. Where two claim the same, the older Ingress has it.
//	 2. Whoever is not served hears of it: a Warning when it is written, an Event later. Whoever is served has the
//	    center's address in its status.
//	 3. A port takes connections, plain ones and TLS. SNI chooses the certificate. A load balancer says first who calls
//	    (balancer.go).
//	 4. A request goes where the Table says: to a backend, a port of a Service. Its connections are those of a call from
//	    another site (server/services): to the nearest site with ready Pods, whatever site that is now. While what
//	    answers moves, each request has a connection of its own, and waits for one. A port that says so is asked by
//	    HTTP/2, such as for gRPC.
//	 5. To NetworkPolicies the caller is an address from outside, and each connection of a caller is one to them. So a
//	    connection to a backend serves one connection of a caller, and ends with it.
//
// The Table, and what reads Ingresses for it, is pure: table.go, read.go, hosts.go, words.go.
//
// Lock order: Controller.mu before none. No lock is held while objects are read or written.
package ingress
