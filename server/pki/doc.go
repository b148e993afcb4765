// Package pki holds a center's keys and certificate authorities: one that its server certificate comes from, one for people (client
// certificates in kubeconfigs) and one for agents. They are three, so that a certificate of one kind is worth nothing where another kind is
// asked for; together they are a generation, which a rotation replaces in steps that a crash may interrupt anywhere. A missing directory is
// made for a new center only; a damaged or half missing one is refused, never made anew. It is imported by server.go.
package pki
