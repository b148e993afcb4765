// Package admin is the client side of the command line: what a platform admin runs against a center
// (skerry space, skerry token, skerry target, skerry status). The commands talk to the center's
// kube API with a kubeconfig, like any other client, and hold no privilege of their own.
//
// The caller's *own kubeconfig* is where kubectl would write. `skerry space use` adds contexts
// CENTER/SPACE to it, without secrets: package credential keeps those.
//
// An *export* of a space is JSON lines under zstd, read at one revision with the caller's rights.
// Left out are what the center makes or decides by itself, mirrors, Events, Leases, and what has
// ended.
//
// An *import* writes kind after kind: definitions, Namespaces, Placements, what workloads need,
// workloads, what refuses or limits. It writes owners before what they own. skerry.dev/import on
// the Space says that the import is not done. With --with-uids that annotation on an object carries
// its identity, which admission accepts of admins of the center alone.
package admin
