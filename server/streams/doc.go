// Package streams reaches from a center into the Pods of its targets. It sends a request down
// (tunnel/exchange), and joins a client's connection with the answer when that upgrades it.
//
//	s := streams.New(streams.Config{Targets: sessions})
//	resp, err := s.Do(ctx, "paris", request)       // a log, a deletion
//	s.Serve(w, req, "paris", request, begun)       // exec, attach, port-forward
//
// Whoever calls has authorized the client and made the request from the mirrored Pod. Errors are
// faults of the exchange, which say to a client what to do.
package streams
