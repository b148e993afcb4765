// Package compress is the project's one compression: zstd with a dictionary trained on Kubernetes
// objects, so that a single small object shrinks like one inside a long stream, without memory for
// each peer. It knows nothing of what the bytes mean.
//
//	frame := compress.Default().Encode(nil, object)
//	object, err := compress.Default().Decode(nil, frame, compress.MaxDecoded)
//
// `go generate ./store/compress` makes the dictionary from synthetic objects. Its name is its hash.
// A file or peer that names another one is refused, so a new dictionary is a new format version.
package compress

//go:generate go run ./train -o dictionary.bin
