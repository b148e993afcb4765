// Package data is the second connection between a parent and a child, which carries byte streams
// into a site: logs, terminals, forwarded ports. It exists only while somebody uses it.
//
//  1. Links.Open finds no connection. It makes a number and asks the child on the session's control
//     stream.
//  2. The child dials with the ALPN tunnel.DataALPN and its certificate (Dial) and says the number.
//  3. Links.Take matches certificate and number with what was asked, and answers. Both ends have a
//     mux.Conn now, and either may open streams. Anything that was not asked for is refused.
//  4. After a minute without a stream the parent closes the connection.
//
// The connection belongs to the child's identity. It outlives the session that it was asked for on,
// and ends when the child is removed or revoked.
//
// Lock order: Links.mu, Metrics.mu, then the lock of a mux.Conn.
package data
