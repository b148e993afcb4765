// Package namespacedefaults gives the namespaces of every space what charts and operators expect in
// any cluster: the ServiceAccount default, and the ConfigMap kube-root-ca.crt with the authorities
// of the center's own certificate. The namespace kube-system has also the ConfigMap
// extension-apiserver-authentication, and the Role that lets it be read. One set of workers serves
// all spaces.
//
// They are made when the first request for such a kind comes from outside, before it is answered,
// and from then on in each new namespace. A space in which nobody has asked has none. They never
// travel: a target makes its own.
package namespacedefaults
