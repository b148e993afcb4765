// Package namespacedefaults gives the namespaces of every space what charts and operators expect in
// any cluster: the ServiceAccount default, and the ConfigMap kube-root-ca.crt with the authorities
// of the center's own certificate. One set of workers serves all spaces.
//
// Both are made when the first request for such a kind comes from outside, before it is answered,
// and from then on in each new namespace. A space in which nobody has asked has neither. Both never
// travel: a target makes its own.
package namespacedefaults
