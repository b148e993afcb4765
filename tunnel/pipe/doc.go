// Package pipe is the tunnel's transport inside one process: two ends of one connection, in memory, with a latency and a fault of one's
// choice. Tests use it, in real or in testing/synctest's time, and a relay can use it for its own. It keeps to the same suite
// (tunneltest) as the transports that have a wire.
package pipe
