// Package doctor checks a center: its process and port, its keys, its database, whether it is
// ready; and from a workstation, with a kubeconfig, the center and what its sites and spaces say.
//
//	checks := doctor.Center(doctor.CenterConfig{DataDir: "/var/lib/skerry", Listen: "0.0.0.0:7443"})
//	checks := doctor.Workstation(doctor.WorkstationConfig{Kubeconfig: path})
package doctor
