// Package registrykey knows the keys under which the kube API stores objects:
// /registry/<resource>/<space>/[<namespace>/]<name>. It tells what a key names, and puts a key
// before the stored bytes of an object for readers that see only those. It is apart from package
// apiserver, its only importer, because it is pure: what decodes is fuzzed, and fuzzing a package
// that links Kubernetes compiles all of Kubernetes again.
package registrykey
