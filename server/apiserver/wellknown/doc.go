// Package wellknown serves objects that every space has without storing them, like the ClusterRole
// admin. One set in memory serves all spaces. Storage wraps the storage of their kind. The life of
// the role edit in a space:
//
//  1. A get or list shows it from memory, with the age of the space and resource version 1.
//  2. A watch begins with it.
//  3. Somebody adds a rule: Storage stores it with that rule. The stored object hides the one in
//     memory from now on. What is refused, or a dry run, stores nothing.
//  4. It is deleted: it shows again as it was.
package wellknown
