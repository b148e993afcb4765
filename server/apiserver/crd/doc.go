// Package crd serves CustomResourceDefinitions and the custom resources that they define.
//
// Group serves the definitions themselves, to all spaces. Servers has one Server for each space
// that has definitions and needs it. Equal definitions of different spaces are decoded and compiled
// once. The life of a definition:
//
//  1. A user writes it. Guard refuses groups of Kubernetes and of skerry.dev, and a conversion
//     webhook at an address that the center does not connect to.
//  2. Servers sees it in the store and starts the Server of the space, which establishes it.
//  3. A request for its resource, or for discovery, waits for that for 5 s at most.
//  4. A borrower's requests go to the lender's Server. The context says whose definition it is
//     (request.Definer).
//  5. A Server that is not used for ten minutes stops. The next request starts it again.
//
// Lock order: Servers.starting, then Servers.mu; serving.mu, then sharedDefinitions.mu.
package crd
