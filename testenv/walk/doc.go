// Package walk lets the product go through random faults and compares it with a model. A walk is
// made of cycles. In each, writers change a thousand objects in a space, namespaces move, objects
// are pinned and spread, while links are cut, agents and the center are killed with SIGKILL. Then
// everything is healed and every site must come to exactly what the model says.
//
// Meanwhile a watch on every site's cluster judges each event: nothing is deleted that was not to
// go (wrongly deleted), nothing comes back (resurrected), and no version of an object is written
// twice. What each cycle does follows from a seed; the moments at which a process dies do not, so
// the same seed meets other moments each time. It imports nothing of the product.
package walk
