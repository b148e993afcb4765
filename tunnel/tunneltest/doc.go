// Package tunneltest is the conformance suite of the tunnel's transports.
//
//	func TestConformance(t *testing.T) {
//		tunneltest.Run(t, func(t *testing.T) (child, parent tunnel.Conn) { ... })
//	}
//
// It requires that streams are ordered and independent of each other, and that cancel and close
// keep the promises of tunnel.Conn. It then runs a whole session over the transport. It also has
// what tests of transports need: authorities, ports, a center, and a [Relay] that loses or delays
// packets.
package tunneltest
