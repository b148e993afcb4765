// Package keyfile is how keys and certificates stand in files: PEM in one form each, limits checked before anything is decoded, files mode
// 0600 that are replaced as a whole and durably, in directories of mode 0700. It knows nothing of what the keys are for. A center's pki and a
// site's credentials both stand on it.
package keyfile
