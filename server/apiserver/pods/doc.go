// Package pods serves what reaches into Pods: logs, exec, attach, port-forward, debug, and the end
// of a mirrored Pod. Pods run at sites, so [Sites] carries a request there.
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
// It knows no transport, and not what a site allows.
package pods
