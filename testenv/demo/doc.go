// Package demo shows the product on real clusters, from nothing: a center, two sites, an
// application of three tiers that is applied with plain kubectl, moves from one cluster to the
// other by one label, and a relay with a cluster below it. Every step checks what it shows; the
// demo fails when a step does. It imports nothing of the product.
package demo
