// Package encryption encrypts what the center stores: Secrets by default, and what an upstream
// EncryptionConfiguration names.
//
// A key file has one key a line. The first one encrypts, all of them decrypt. The center makes such
// a file beside its other keys, or is given one; an EncryptionConfiguration takes its place for the
// resources that it names. Stored values have upstream's form, k8s:enc:PROVIDER:VERSION:KEY:BYTES.
//
// The record is a value in the store that says which keys the stored values need, each with a
// proof: a known text that the key has encrypted. A start with another key fails at the proof,
// before anything is served or written.
//
// The life of a rotation:
//
//  1. A new key is written behind the old one: every replica can read what it will encrypt.
//  2. Its proof is added to the record, and the key becomes the first one: it encrypts from now on.
//  3. Every value that an older key has encrypted is written anew.
//  4. The record forgets the old key, and so does the file.
//
// A rotation that is cut off goes on at the next start: the file and the record say how far it was.
package encryption
