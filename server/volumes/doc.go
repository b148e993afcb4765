// Package volumes says what it takes to copy what the claims of a unit hold to the target that the unit moves to,
// before it begins there. It is pure; package copier does it.
//
// A copy is made by two Deployments of one Pod in the claim's Namespace, the movers: one at the target that is
// left, which mounts the claim beside the app, and one at the new target, which is the first to mount it there. They
// are ordinary objects of the space, placed by their labels. What a Pod names goes along with it, so the claim is at
// both targets for as long as both movers are there. When the unit is ready at the new target, the old mover
// runs no more, but stays for a while, and with it the old volume.
//
// A standby is made by two movers as well, source and standby, whose unit stays where it is (Replica). They rest
// between rounds. The one at the standby's target keeps the claim there, and says in an annotation what that holds
// (Standby). The other one keeps the volume that was lost with its target, once the unit has begun on the standby.
package volumes
