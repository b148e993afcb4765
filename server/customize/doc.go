// Package customize renders an object of a space into the bytes that travel to a target. It is pure
// and idempotent.
//
//	body, err := customize.Render(obj, customize.Origin{Space: "shop", UID: uid, Placement: "web"})
//
// The life of a body:
//
//  1. Render removes what belongs to the center: status, the bookkeeping of the API server, and the
//     center's own annotations.
//  2. It removes what a cluster fills in itself: fields of its controllers and allocators. Chosen
//     returns the values that a target has chosen, as the annotation skerry.dev/allocated says. All
//     other values are wishes of the user and travel.
//  3. It adds where the object comes from (Origin), and gives Pods the API of their space.
//  4. It writes canonical JSON. Equal objects give equal bytes, so equal hashes mean that there is
//     nothing to send.
//
// What differs from target to target by the Customizers of a space is not rendered here: every
// target is sent the same base, and makes its variant of it. See tunnel/variant.
//
// testdata has an example of each kind: in.yaml, and want.yaml as it is sent.
package customize
