// Package summary turns what targets report into what people read in a space: the status of each placed object, exact when it is on
// one target and merged when it is on several (Merge is pure, associative and commutative), mirrored Pods, and a condition and an
// Event where a target refuses something. Reports are read from the targets' inboxes when they are needed; what it keeps in memory
// of them are a few bytes a key, and all of it can be made again. A status is written only when it differs from what the
// space shows, so the write that it causes ends there. It knows no Kubernetes client: server.go gives it an API.
// Only server.go imports it.
package summary
