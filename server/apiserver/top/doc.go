// Package top serves metrics.k8s.io in a space, for kubectl top pods: what the Pods of the space use
// at the sites that they run at. Nothing is stored, and nothing is kept between requests.
//
// Life of a list:
//
//  1. The Pods of the space are listed with the selectors of the request. Those that have ended use
//     nothing and are left out.
//  2. Each Pod says where it runs (exchange.PlaceOf). Every such target is asked once, through its
//     data connection (tunnel/usage).
//  3. What comes back gets the names and labels that the Pods have in the space.
//  4. A site that is away, or has no metrics, becomes a warning of the answer. If nobody answers,
//     the request fails with the reasons.
//
// The resource has the verbs get and list alone, so that garbage collection, the deletion of
// namespaces and backups, which look for what they can watch, delete or create, pass it by.
package top
