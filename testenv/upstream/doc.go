// Package upstream runs tests of Kubernetes itself against spaces of a center that it starts: the
// e2e specs of three groups, against one space and against several at once, and the functions with
// which upstream tests kubectl. What is run, and why the rest is not, is declared in data files of
// testenv/conformance. cmd/testenv calls it; it imports nothing of Kubernetes.
package upstream
