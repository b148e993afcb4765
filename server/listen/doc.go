// Package listen is the center's TCP port. It does the TLS handshake of everybody, within limits
// that hold before anybody has said who he is. Then it hands agents (ALPN skerry/1 and
// skerry-data/1) to one listener and users of the kube API to another. Neither sees a connection of
// the other, nor one whose handshake is not done.
package listen
