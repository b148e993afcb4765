// Package doctor checks a site: the identity and the store of its agent, its workload cluster with
// the agent's rights there, and what the running agent last said of itself. The way to the parent
// and the machine are checked by the packages tunnel/doctor/parent and tunnel/doctor/machine.
//
//	checks, err := doctor.Site(doctor.Config{DataDir: "/var/lib/skerry-agent", ...})
package doctor
