// Package backup puts what a center cannot lose into one file, and makes a data directory of such a
// file again: the database as of one moment, the authorities' keys as they were before and after
// that copy, and of a relay its identity at its parent. What sites send again by themselves
// (reports, who was connected) is left out.
//
// The file is a tar archive compressed with zstd: backup.json first (format, version, whose data
// and of which revision), SHA256SUMS last. So `tar --zstd -xf FILE && sha256sum -c SHA256SUMS`
// checks it without Skerry. The package knows nothing of what is in the database: its caller says
// how that is copied and checked.
//
// A restored database does not know the eras that began after it was copied. Every site that had
// come further holds (store.Eras) until an admin accepts.
package backup
