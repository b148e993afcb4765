// Package space is the life of a space. Controller turns Space objects into the Set that the
// front of the API asks at every request. Namespaces empties deleted namespaces in all spaces,
// and has their claims go at sites after the StatefulSets.
// Each works across all spaces at once, so an empty space costs nothing here.
//
// Life of a space:
//
//  1. A Space is created in root. It gets the namespaces that every cluster has, and its first
//     admin: its creator, whom admission records in skerry.dev/creator.
//  2. It enters the Set, and its URL answers.
//  3. It is deleted with the policy Delete. It leaves the Set first: from then on storage refuses
//     to create anything in it, the center's own parts included.
//  4. Every key goes, each a tombstone for the targets. Two minutes later the store is looked
//     through once more.
package space
