// Package crd serves CustomResourceDefinitions and the custom resources that they define.
//
// Group serves the definitions themselves, to all spaces. Servers has one Server for each space
// that has definitions and needs it. Equal definitions of different spaces are decoded and compiled
// once. The life of a definition:
//
//  1. Guard takes it, unless the space cannot honour it: a webhook at an address that the
//     center does not connect to, a group of Kubernetes.
//  2. Servers sees it in the store and starts the Server of the space, which establishes it.
//  3. A request for its resource that comes before that waits, 5 s at most; so does discovery.
//  4. A borrower's requests go to the lender's Server. The context says whose definition it is
//     (request.Definer).
//  5. Nobody uses the Server for ten minutes: it stops. It starts again with the next request.
//
// Lock order: Servers.starting, then Servers.mu; serving.mu, then sharedDefinitions.mu.
package crd
