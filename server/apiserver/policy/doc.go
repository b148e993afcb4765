// Package policy enforces what the users of a space demand of each other's writes:
// ValidatingAdmissionPolicies, MutatingAdmissionPolicies, and webhooks by URL. The rules are
// Kubernetes' own code; what it reads is of the space of the request, so that one set of parts
// serves all spaces. A space without such objects costs nothing, the compiled rules of the others
// are made at their first write and kept for the spaces that used them last.
//
// What the center itself writes is not asked about: it shows what has happened already. Only
// server/apiserver imports it.
package policy
