// Package apiserver is the kube API of a center: one generic API server for all spaces. The space travels in the request's context
// and stands in every storage key (/registry/<resource>/<space>/...), so an empty space costs next to nothing. Built-in
// kinds are Kubernetes' own storages and behave like in any cluster; a space that has CustomResourceDefinitions gets
// a small server for them; the kinds of skerry.dev are served by one server to all spaces.
//
// The center's own parts use Loopback (a client in memory) and Changes (every write of every space, in the order of revisions). What
// is not served, and why, stands in README.md. Package server wires it; nothing else imports it.
package apiserver
