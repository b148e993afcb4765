// Package kinds changes how upstream serves built-in kinds, because a space runs nothing itself: workload clusters
// do, and the center shows what they report.
//
//	m["services"]            nothing is allocated; what the target has allocated is kept (AddServices)
//	m["pods"], m["jobs"] ... the center writes what a target reported as it is, with its status (MirrorPods, Mirroring)
//	m["deployments/status"]  the center may set any valid status: another target may begin anew (NewReportedStatus)
//	m["..."] -o wide         where an object is, and since when that is silent (AddPlaceColumns, ShowPlace)
//
// A mirror is an object that a target reported, which has the annotation skerry.dev/reported-from.
package kinds
