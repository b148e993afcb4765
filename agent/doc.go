// Package agent runs beside a workload cluster, or inside a relay, and makes that target match what
// one parent wants.
//
// Its nouns are the parent, the target, and the file agent.db between them. Package uplink keeps a
// durable copy of the parent's desired feed in the file. Package apply brings the copy to the
// target. Package observe reports the result. An agent works from its own file alone: it needs no
// parent, no link and no clock to continue with what it knows.
//
//	access, err := agent.Cluster("")  // the cluster that this process runs in
//	err = agent.Run(ctx, agent.Config{
//		DataDir: dir, Parents: []string{"https://center:7443"}, Token: token, Target: access,
//	})
//
// The life of a run:
//
//  1. open reads the file, or rebuilds a corrupt one, and wires the parts.
//  2. All parts run. The first session waits, at most 10 s, until objects that a crash left without
//     a record were looked up on the target. Until then a tombstone could not tell whose object it
//     deletes.
//  3. The first part that ends ends the others. The inventory ends last, so that it has what apply
//     did.
//  4. Run begins again when the file turned out to be corrupt, or the cluster was replaced. Every
//     other end is final.
//
// agent.go wires the parts and decides nothing. Package agent never links the API server.
//
// Lock order: cacheHealth.mu, then that of the Conditions.
package agent
