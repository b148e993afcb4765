// Package pods serves what reaches into Pods: logs, exec, attach, port-forward and debug. It also
// serves the deletion, eviction and change of what was born at a site: Pods, and ReplicaSets, Jobs
// and claims that are mirrored. [Sites] carries a request there.
//
// Life of a request:
//
//  1. Upstream's own storage checks options, Pod, container and rights, up to the point at which it
//     would ask a kubelet. [NoKubelets] stands there.
//  2. The Pod says where it runs, and under which name and UID (exchange.PlaceOf). Nothing of the
//     path comes from the client.
//  3. Options that were decoded are encoded anew. The audit line gets site, Pod and container.
//  4. Sites answers: bytes of a log, an upgraded connection, or a Status.
//
// A write changes nothing here: the mirror follows when the site reports, and the answer waits a
// moment for that. Of a change only labels and annotations pass, and conditions of readiness gates;
// what else differs is refused by its field.
//
// It knows no transport, and not what a site allows.
package pods
