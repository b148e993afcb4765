// Package listen is the center's TCP port: it does the TLS handshake of everybody who comes, within limits that hold before anybody has said who
// he is, and hands agents (ALPN skerry/1) and users of the kube API to two listeners of their own. Neither sees a connection of the
// other, or one whose handshake is not done. It is imported by server.go alone.
package listen
