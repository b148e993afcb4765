// Package server is center mode: a kube API of many spaces, the placement of their objects on sites, and the door through which the
// sites' agents come in. server.go opens and wires the parts and says in which order they start and stop; it decides nothing. See
// README.md for the two flows. It is imported by main.go only.
package server
