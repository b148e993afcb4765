// Package clusterset joins the Services of spaces by the services API of SIG Multicluster (KEP-1645): what one space of
// a set exports, each space of the set imports.
//
// Its nouns: a *set* is all spaces whose Space names it (spec.clusterSet). An *offer* is the Service of one space that
// a ServiceExport exports. All offers of one name and Namespace in a set are one import.
//
//  1. A space that joins a set gets the definitions of both kinds, and none of their objects goes to sites.
//  2. A ServiceExport, or the Service of its name, is written. All offers of that name are judged together (judge): the
//     oldest export says what the others contradict. It has the labels and annotations of the import, and says whether
//     callers come back to the same Pod.
//  3. In each space of the set that has the Namespace a ServiceImport is kept, and a Service that serves it. That
//     selects no Pods, so it is nowhere. It reaches its space, so its name leads to the center from wherever the space
//     runs Pods (package services).
//  4. Whoever calls it is led to the offers (Controller.Imports). A relay is in no set: it finds which spaces export
//     what it calls in an annotation of that Service, which only centers write.
//  5. The conditions Valid, Ready and Conflict of each export say what came of it.
//
// Controller is a change handler of the kube API. It keeps of each export what tells it from others, and of each import
// where it is. Everything else is read when it is looked at.
//
// Lock order: Controller.mu, patience.mu.
package clusterset
