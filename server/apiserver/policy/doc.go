// Package policy enforces what the users of a space demand of each other's writes:
// ValidatingAdmissionPolicies, MutatingAdmissionPolicies, and webhooks. The rules are the own
// code of Kubernetes. It reads what is of the space of the request, so that one Plugin serves
// all spaces. The life of a policy:
//
//  1. Its write is checked like any other object, and webhooks also for their URL. A space may have
//     MaxObjects of them.
//  2. Plugin.Put gets it, as the store has it, and Plugin.Replace all of them after a start.
//  3. The first write in its space compiles the rules of the space. They are kept for the spaces that
//     used them last.
//  4. Plugin.Admit and Plugin.Validate ask them about each write of a user.
//
// A space without such objects costs nothing. What the center itself writes is not asked about: it
// shows what has happened already.
package policy
