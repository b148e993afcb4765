// Package admission holds the admission plugins of the center: what a space refuses, fills in or
// warns of, where a cluster would do otherwise or would do it by controllers. Each type is one
// plugin, for all spaces; what the center itself writes passes most of them. The life of a new
// Deployment of a user:
//
//  1. Lifecycle: its namespace exists and is not being deleted.
//  2. ClusterDefaults, then the policies and webhooks of the space (package policy) change it.
//  3. Annotations: only the center writes skerry.dev/targets, and does so here when the decision is
//     known.
//  4. PodSecurity warns of Pods that the target will refuse, NoEffect of fields that do nothing,
//     Sizes refuses what is too large to be sent.
//  5. Package quota comes last, because what it charges is about to be written.
//
// Creators notes who made a Space, Imports says who may bring an identity, NamedDeletions records
// what is deleted by its name.
package admission
