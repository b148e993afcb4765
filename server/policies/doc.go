// Package policies carries Placements of root out in the spaces that they select.
//
// Its nouns: a *policy* is a Placement of root. Its *copy* is the Placement of the name root.NAME
// that the center keeps in a space for it. The life of a policy:
//
//  1. Somebody writes a Placement with a spaceSelector in root, or the labels of a Space change.
//  2. In each selected space a copy is created, or its spec replaced: one write a space. Where the
//     policy does not select a space any more, the copy is deleted.
//  3. Package delivery decides by the copy as by any Placement, and records the decision in its
//     status, where the users of the space read it. They cannot change it (package admission).
//  4. The status of the policy counts the spaces by the conditions of their copies, once a second
//     at most.
//
// Controller is a change handler of the kube API. It keeps of each copy its conditions alone.
package policies
