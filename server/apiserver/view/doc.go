// Package view serves /targets/<path>/ of a space: live and read-only, what the space has at one
// site. A path is the name of a target, or names with slashes between them through relays:
//
//	/targets/eu/paris/api/v1/namespaces/web/pods
//
// Life of a request:
//
//  1. [Resolver] reads what follows the path as any other request for the API, so that the space's
//     RBAC decides about that resource in that namespace, and the audit line says it.
//  2. [Handler] makes a request of what was resolved, never of the client's path, and sends it to
//     the first target. The site decides which namespaces are the space's.
//  3. The answer is passed on as it comes, JSON alone.
//
// Logs, exec, attach and port-forward of a Pod are the space's own storages' ([IntoPod]), which read the
// Pod at the site.
package view
