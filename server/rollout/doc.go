// Package rollout decides which release of a unit's content each of its targets shall have. It is pure:
// it has no clock, and does no I/O.
//
// Its nouns: a *release* is one version of the content of a unit. It is *proven* when a rollout of it was
// completed; the first release is proven from the start. The *default* is the proven release of every
// target that State.Targets does not name. The *goal* is the release that all targets are to have in the
// end: the newest one, unless it is taken back.
//
//	state, view := rollout.Next(state, rollout.Facts{Now: now, Policy: policy, Targets: targets})
//
// Who has recorded a state that is another calls Next again: only then is it known what wakes it.
//
// The life of a release:
//
//  1. State.Add makes it. No target has it.
//  2. Next gives it to targets of the first group, MaxConcurrency of them at the same time. Groups take
//     turns: the next one begins when no target of the one before is waited for.
//  3. A target that has been well with it for MinSuccess is done. One that is not done after Deadline has
//     failed. When more than MaxFailures have failed no further target gets the release.
//  4. When no target is waited for any more, and one is done at least, the release is proven and becomes
//     the default. So those that were skipped have it, too.
//
// What never happens: a target gets a release that is not proven while the policy is paused, while too many
// have failed, before its group has its turn, or beyond MaxConcurrency. A state keeps MaxReleases releases
// and the default.
package rollout
