// Package listen is the center's TCP port. It does the TLS handshake of everybody, within limits
// that hold before anybody has said who he is. Then it hands agents (ALPN skerry/1 and
// skerry-data/1) to one listener, other replicas of the center (skerry-replica/1) to another, and
// users of the kube API to a third. None sees a connection of the others, nor one whose handshake
// is not done.
package listen
