// Package backup puts what a center cannot lose into one file and makes a data directory of such a file again: the database, the authorities'
// keys and, of a relay, its identity at its parent. What sites send again by themselves (reports, who was connected) is left out.
//
// The file is a tar archive compressed with zstd: backup.json first (format, version, whose data and of which revision), SHA256SUMS last, so
// that `tar --zstd -xf FILE && sha256sum -c SHA256SUMS` checks it without Skerry. It knows nothing of what is in the database: its caller
// says how that is copied and looked at. Only package server imports it.
package backup
