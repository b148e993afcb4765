// Package gateway gives the pods of a site the API of their space. Their center has put references
// into their templates (store.PodAPI); a Gateway keeps what these name, listens for the pods, and
// passes their requests on to the parent.
//
//  1. Provide is asked before a workload is applied. It keeps the ConfigMap with the address, and a
//     Secret with a token, which it asks the parent for.
//  2. A pod connects to the Service of the gateway. Its TLS certificate is of an authority of the
//     agent's own, which is in the Secret.
//  3. A request has to have a token that this gateway keeps in a Secret, or has kept there before
//     the last renewal. Every other request is answered here: nothing of it crosses.
//  4. The request goes up as a stream of the data connection (tunnel/upward).
//  5. Tokens are renewed when half of their life is over. What no workload names any more is removed
//     some minutes later.
//
// Cut off from the parent, requests are answered with 503, as by an API server that is down.
//
// Lock order: Gateway.providing, Gateway.mu.
package gateway
