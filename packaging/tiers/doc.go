// Package tiers tests what only a center, relays and sites do together. Each tier is made of the real handlers of
// both halves, over connections in memory. What their databases know is a table here.
package tiers
