// Package view shows a space, live and read-only, what its namespaces at a site hold.
//
// Life of a request:
//  1. tunnel/exchange has read it: a space, a namespace or none, a resource, decoded options.
//  2. What is no object in a namespace is refused: Secrets, subresources, kinds of the cluster.
//  3. The namespace has to be one that was made here for the space: the agent's record says so, and
//     the live Namespace has the UID, and the annotations that name the space. Of one that was there
//     before the space took it, what was placed there is shown, and what belongs to that.
//  4. [Site] asks the cluster's API server for JSON, and for that namespace alone. A list of all
//     namespaces is one list per namespace, joined, and each object is looked at once more.
//  5. Names of namespaces become those of the space again.
//
// [Relay] passes a request on to the next target of its path.
package view
