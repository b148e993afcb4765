// Package verdicts has no code: its test asks kstatus, by which Flux and others wait, of merged
// statuses.
package verdicts
