// Package doctor is `skerry doctor` and `skerry support-bundle`: it finds what of Skerry a machine
// has, runs the checks of each part, and packs what a person far away needs to help.
//
// The checks stand in agent/doctor, server/doctor and the packages below tunnel/doctor. A part is
// configured by the flags, variables and file of its daemon, so that `skerry doctor agent` looks at
// what `skerry agent` runs with.
package doctor
