// Package bundle writes a support bundle: one tar under zstd, mode 0600, of bounded size.
//
//	w, err := bundle.Create(path, bundle.Options{Secrets: known})
//	w.Add("agent/status.json", data)
//	err = w.Close()
//
// No secret enters it. Its contents are chosen, not filtered: no file is packed that may hold one.
// A [Scrubber] takes out of what is packed, such as logs, what looks like a secret or is known to be
// one all the same.
package bundle
