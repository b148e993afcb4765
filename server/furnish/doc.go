// Package furnish gives the namespaces of every space what charts and operators expect to find in those of any cluster: the
// ServiceAccount default, and the ConfigMap kube-root-ca.crt with the authorities of the center's own certificate. One set of workers
// serves all spaces.
//
// A space in which nobody has asked for ConfigMaps or ServiceAccounts has neither: they are made when the first request for such a kind
// comes from outside, before it is answered, and from then on in each new namespace. Both never travel to a target, which makes its own
// (server/placement). Only server.go imports it.
package furnish
