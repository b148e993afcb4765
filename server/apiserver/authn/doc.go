// Package authn says who makes a request. New tries, in this order:
//
//  1. The loopback: the center itself, CenterUser, whatever credentials the request shows.
//  2. A client certificate: the common name is the user, the organizations are the groups.
//  3. A token of a ServiceAccount (Tokens). Every space is an issuer of its own, so a token of one
//     space is nothing in another. An account of the namespace kube-users stands for a user of its
//     space.
//  4. A token of an OIDC provider, which says the same in every space.
//
// Whoever shows nothing is anonymous, where the configuration allows it. Whoever shows something
// wrong is refused. What a user may do is package authz's to say.
package authn
