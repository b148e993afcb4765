// Package compress is the one compression of the project: zstd with a dictionary trained on
// Kubernetes objects, so that a single small object shrinks like one inside a long stream, without
// memory per peer. The wire, the bbolt files and compressed copies in memory use the same
// dictionary. It knows nothing of what the bytes mean. Imported by store/bolt, tunnel/wire and by
// whoever keeps many objects in memory.
//
// The dictionary is made by `go generate ./store/compress` from synthetic objects and is named by
// its hash. A file or peer that names another one is refused, so a new dictionary is a new format
// version.
package compress

//go:generate go run ./train -o dictionary.bin
