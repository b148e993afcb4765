// Package binding is the record of where things are decided to be, and its transitions. It is pure:
// values in, values out; no clock, no client, no lock, no I/O.
//
//	next := binding.Next(record, facts)   // the next step of a record
//	ref := index.Of(uid, stamp)           // the record that decides about an object
//	pass := index.Pass(subject)           // what must be written when another unit wishes it
//
// A Binding says where a unit is: what moves together. A stamp on an object names the unit that it
// is with, never a place. A Cohort says where objects are while they pass between units. README.md
// teaches all three with an example. The package's tests play histories in a small world with a
// store, sites, leaders that die and users that change their minds.
package binding
