// Package authn authenticates requests: it says who makes them. New tries, in this order:
//
//  1. The loopback: the center itself, CenterUser, whatever credentials the request shows.
//  2. A client certificate: the common name is the user, the organizations are the groups.
//  3. A token of a ServiceAccount (Tokens). Every space is an issuer of its own, so a token of one
//     space is nothing in another. An account of the namespace kube-users stands for a user of its
//     space.
//  4. A token of an OIDC provider, which says the same in every space.
//
// A request without credentials is anonymous, where the configuration allows it. One with wrong
// credentials is refused. A request through the gateway of a site is authenticated by step 3 alone.
// Package authz decides what a user may do.
package authn
