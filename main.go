// Command skerry is the one binary of Skerry: a center that serves a kube API with many spaces, an
// agent beside a workload cluster, a relay (a center with a parent), and the admin's command line.
package main

import "skerry.dev/skerry/packaging"

// Set by the linker, see the Makefile.
var (
	version = "unknown"
	commit  = "unknown"
)

func main() { packaging.Main(version, commit) }
