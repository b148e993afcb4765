// Package keyfile stores keys and certificates in files: PEM, in one form each.
//
//	key, err := keyfile.MakeKey(path)              // a new one, stored
//	chain, err := keyfile.ReadCertificates(path)
//	err = keyfile.Replace(path, data)              // as a whole, durably
//
// Files have mode 0600 and are replaced as a whole and durably. Directories have mode 0700
// ([Protect]). Limits are checked before anything is decoded.
//
// It does not know what the keys are for.
package keyfile
