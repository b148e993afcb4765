// Package pipe is the tunnel's transport inside one process: two ends of one connection in memory.
//
//	child, parent := pipe.New(pipe.Options{...})  // with a latency and a fault, if wanted
//
// Tests run it in real time, or in the fake time of testing/synctest. It passes the same suite
// (tunneltest) as the transports that have a wire. It encrypts nothing and proves no identity:
// [Options] name the peers.
//
// Lock order: half.mu, then link.mu.
package pipe
