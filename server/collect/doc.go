// Package collect folds the reports of many targets: what StatusCollectors say becomes
// CombinedStatuses.
//
// Its nouns: a *program* is a StatusCollector, compiled. A *source* is a report, by target and key. A
// *contribution* is what a program makes of a source: the texts of its groups, the numbers of its
// fields. A *fold* is the rows that many contributions make.
//
//	report of a target --> contribution --> fold --> CombinedStatus
//
// A report is evaluated once for each collector in whose scope it is. A fold is made of the
// contributions, without evaluating anything. Contributions gather for a second; a CombinedStatus is
// written every two seconds at most, and only when it is another, so that writes are bounded by
// CombinedStatuses and not by reports.
//
// # Limits
//
// An expression that may be too costly is refused when it is compiled: lists and texts of an object
// count with 32 elements. One that is too costly for a certain report ends there and counts as an
// error of that report, as every other error does: the rest is folded all the same. A CombinedStatus
// has 100 rows at most. A collector keeps maxContributions, the maxCollectors of a space keep maxOfSpace
// together; what is beyond that is not folded, and the condition Ready says so.
//
// # Relays
//
// A center folds what its direct children report. A relay reports the merged status of an object, and
// counts as one target. All combinations can be made of parts, and a collector at the relay folds its
// own children.
//
// Everything is soft and made again of the stored reports at each start. Lock order: the lock of
// Collect is not held while anybody but the queue is called.
package collect
