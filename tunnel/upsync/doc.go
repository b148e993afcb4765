// Package upsync says which objects that are born at a target come back into their space. It is pure.
//
//	rule, problems := upsync.Parse(body)             // an Upsync, as it is stored
//	ok := rule.Selects(key, "v1", labels)            // by the metadata of an object
//	why := upsync.Refuses(key, object)               // what never comes, whoever asks
//	up := upsync.Key(key)                            // under which the object is reported
//	key, ok := upsync.Object(up)
//
// # Where it runs
//
// A Placement with spec.upsync has an Upsync of its name. Its entry goes to the targets of the
// Placement, as a rule and not as an object: an agent watches what it selects, and reports each
// object beside the statuses of what is placed. The parent looks at rule and object again before it
// writes the object into the space, because what a target reports is data and no authority. A relay
// has the Upsync as an object of its own space. Its targets bring the objects there, and its agent
// brings on what they brought, and nothing else.
//
// # Keys
//
// A report has the key of an object with another group, Group, so that it never meets the report of a
// placed object of that name.
//
// # Limits
//
// Of one Upsync a target brings MaxObjects with MaxBytes in all, of one space MaxSpaceObjects with
// MaxSpaceBytes. What is beyond that is left out, and the status says so.
package upsync
