// Package tunneltest is the suite that every transport of the tunnel passes: streams in order and apart from each other, cancel and close as
// promised by tunnel.Conn, and a whole session over it. It is imported by tests only.
package tunneltest
