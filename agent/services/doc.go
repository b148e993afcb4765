// Package services has the names of a space's Services answer at a site where none of their Pods is ready.
//
//	s, err := services.New(services.Config{Dir: dir, Address: find, Clients: clients, Up: up, ...})
//	s.Need()           // a Service that reaches its space was applied
//	err = s.Run(ctx)   // until ctx ends
//
// Its nouns are a delivered Service that carries target.AnnotationReach, its [entry], and the remote slice, an
// EndpointSlice beside those that the cluster makes itself.
//
//  1. A watch tells of each delivered Service and of its EndpointSlices.
//  2. Each TCP port of such a Service has a port of this machine (ports.go), which a restart keeps.
//  3. The remote slice has this machine as an endpoint. That is ready while no Pod of the Service is ready
//     here, so that kube-proxy sends connections to the agent then, and no other.
//  4. A caller has to be a Pod of the very space (callers.go). Every other one is reset.
//  5. The parent is asked for a connection (upward.Call). Without one the caller is reset, within 3 s. It
//     waits for longer where what answers moves (hold.go).
//
// A Service goes with its slice and its ports. Slices of other makers are left alone.
package services
