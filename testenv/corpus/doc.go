// Package corpus applies the same manifests to a plain cluster and to a space, and compares what
// both become, object by object and status by status.
//
// Both sides are clusters of one kind; the space's only site allows what a cluster's admin may do. What
// belongs to one cluster is left out of the comparison: UIDs, addresses, times, hashes in names.
// A difference that no unit.yaml declares is a defect.
//
// A unit is a directory of testenv/corpus/units. It shows one construct that real charts use. Its
// steps are its files in the order of their names:
//
//	1.apply.yaml    kubectl apply -f FILE       (also .create, .replace, .ssa, .delete)
//	2.run           one command a line: kubectl ... or helm ...
//
// In a line of a .run file, "! " at the beginning says that the command must fail, "= " that both
// print the same, and "~ " that each side gets there only after a while. The unit's namespace is
// the default. NAMESPACE and IMAGE stand for the unit's namespace and the test image.
// After each step the runner waits until both sides show the same, or until the unit's time is up.
//
// unit.yaml is optional. It says how long to wait, and it declares differences:
//
//	limit: 60s
//	declared:
//	- object: Pod/web-*
//	  path: spec.volumes*
//	  reason: the site adds its own token to its copy
//
// The unit.yaml beside the units declares differences for all of them.
//
// A bundle is what others wrote: a chart, a kustomization or manifests, outside of this repository. It
// is installed, installed again and removed, and after each step compared in the same way. Differences
// of all bundles are in bundles.yaml.
package corpus
