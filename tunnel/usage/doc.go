// Package usage asks targets what the Pods of a space use: the API metrics.k8s.io of the clusters
// that they run on. A center asks for its mirrored Pods, a relay for those below it.
//
//	list := usage.List(ctx, targets, request, pods) // pods with their places
//	for _, pod := range list.Pods { ... }           // under their names in the space
//	for _, m := range list.Missing { ... }          // targets that say nothing, and why
//
// Life of a list:
//
//  1. The Pods are sorted by target. Each target gets one view (exchange.View), some at a time.
//  2. Of an answer, those objects count that are of a Pod which was asked for at that target. They
//     get the Pod's name in the space.
//  3. A target that is away, or has no metrics, is named with its reason. Nothing is guessed.
//
// It knows no space's API, and not who may ask.
package usage
