// Package enroll turns a join token into a certificate. The child's half (Join, Credentials) proves the center by the pin in the token
// before it sends anything secret, sends one certificate request and keeps its key to itself; the parent's half (Handler) is one HTTP route.
// Renewal goes over the tunnel's control stream. Agent and server import it.
package enroll
