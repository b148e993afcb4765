// Package reference writes the pages of packaging/docs/reference that are made of the program
// itself: cli.md of the flags of every command, kinds.md of the definitions of Skerry's kinds, and
// names.md of the labels, annotations and conditions that its API package declares. It also writes
// packaging/docs/changes of the changelog's files. Man returns the man pages, which an installation
// has, and WithExamples has each command's help end with its examples.
//
// `make generate` writes them. A test fails when a page in the repository is not what the code says
// now, so no page is ever edited by hand.
package reference
