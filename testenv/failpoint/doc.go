// Package failpoint kills centers and agents with SIGKILL at named places of their code: around
// every commit, acknowledgement and write. The places are comments in the product (`// gofail: var
// name struct{}`, see go.etcd.io/gofail) and cost nothing in a released binary; `make
// bin/skerry-failpoints` builds one in which they are real. A process stops at an armed place, the
// driver sees that it has, and kills it there. Its tests do that at every place and hold what must
// be true afterwards; they run with SKERRY_SCENARIOS=1.
package failpoint
