// Package pki holds a center's keys and certificate authorities: one for the center's own server
// certificate, one for people (client certificates in kubeconfigs) and one for agents. They are
// three, so that a certificate of one kind is worth nothing where another kind is asked for.
//
// Together the three are a *generation*. A rotation replaces a generation in steps, and a crash may
// interrupt it anywhere: authorities.json alone says which generation signs and which are trusted,
// so a step is there or is not.
//
// A missing directory is made for a new center only. Keys that are missing while there is data, or
// that are damaged, are an error that names the file. Nothing is made anew.
//
// Lock order: Serving.mu, then PKI.mu.
package pki
