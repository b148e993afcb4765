// Package specs has no code of its own. Its test binary is upstream's e2e specs of the groups
// api-machinery, auth and apps, so much of upstream's suite as a kube API without nodes can be
// asked: `make conformance` builds it once and runs it against spaces.
package specs
