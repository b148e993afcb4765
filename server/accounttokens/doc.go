// Package accounttokens fills the Secrets of type kubernetes.io/service-account-token, as a
// cluster's token controller does: token, ca.crt and namespace, and the ServiceAccount's UID in an
// annotation.
//
// The life of such a Secret:
//
//  1. Somebody creates it with the annotation kubernetes.io/service-account.name.
//  2. When the ServiceAccount exists, the Secret is filled. The token is bound to this Secret and
//     to this ServiceAccount by their UIDs, and ends with either.
//  3. When the ServiceAccount is deleted, or is another of the same name, the Secret is deleted.
//
// A cluster deletes a Secret whose ServiceAccount was never there; here it waits for it, since the
// files of a chart may come in any order.
package accounttokens
