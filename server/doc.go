// Package server is center mode: a kube API of many spaces, the placement of their objects on
// sites, and the sessions of the sites' agents. server.go opens and wires the parts and says in
// which order they start and stop; it decides nothing. README.md has the two flows.
package server
