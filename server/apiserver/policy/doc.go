// Package policy enforces what the users of a space demand of each other's writes:
// ValidatingAdmissionPolicies, MutatingAdmissionPolicies, and webhooks. Upstream's code evaluates
// them. One Plugin serves all spaces: it gives that code the objects of the request's space. The
// life of a policy:
//
//  1. A user writes it. Plugin.Validate refuses a webhook at an address that the center does not
//     connect to, and more than MaxObjects in a space.
//  2. Plugin.Put adds it when it is stored. Plugin.Replace adds all of a kind after a start.
//  3. The next write in its space compiles the rules of the space (built). Those of the 256 spaces
//     that used them last are kept.
//  4. Plugin.Admit and Plugin.Validate evaluate them for each write of a user.
//
// A space without such objects costs nothing. Writes of the center are not evaluated, because they
// show what has happened already.
package policy
