<<<<<<< HEAD
// Package listen is the center's TCP port. It does the TLS handshake of everybody, within limits
// that hold before anybody has said who he is. Then it hands agents (ALPN skerry/1 and
// skerry-data/1) to one listener and users of the kube API to another. Neither sees a connection of
// the other, nor one whose handshake is not done.
=======
// Package listen is the center's TCP port: it does the TLS handshake of everybody who comes, within limits that hold before anybody has said who
// he is, and hands agents (ALPN skerry/1 and skerry-data/1) and users of the kube API to two listeners of their own. Neither sees a connection of the
// other, or one whose handshake is not done. It is imported by server.go alone.
>>>>>>> a5d5cff (tunnel/tcp, server/listen: say what a data connection is to them)
package listen
