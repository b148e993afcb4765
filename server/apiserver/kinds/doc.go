// Package kinds changes how upstream serves built-in kinds, because a space runs nothing itself:
// workload clusters do, and the center shows what they report.
//
//	AddServices        allocates nothing, and keeps what the target has allocated
//	MirrorPods         lets the center write Pods that a target reported, with their status
//	Mirroring          does so for Jobs, ReplicaSets and ControllerRevisions
//	NewReportedStatus  takes any valid status of the center: another target may begin anew
//	AddPlaceColumns    shows where an object is, and since when that is silent (-o wide)
//
// A mirror is an object that a target reported, which has the annotation skerry.dev/reported-from.
package kinds
