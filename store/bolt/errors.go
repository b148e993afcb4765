package bolt

import "errors"

var (
	// ErrNewerFormat is returned by Open for a file that a newer version has written.
	ErrNewerFormat = errors.New("the file is of a newer format")
	// ErrLocked is returned by Open when another process has the file open.
	ErrLocked = errors.New("the file is in use by another process")
	// ErrCorrupt is returned when the file or a record in it cannot be read, or is not what was
	// written.
	ErrCorrupt = errors.New("the file is corrupt")
	// ErrSealed is returned for a body that was encrypted under a key that is not there.
	ErrSealed = errors.New("the body is encrypted under another key")
	// ErrReadOnly is returned by every write to a file that could only be opened for reading.
	ErrReadOnly = errors.New("the file system is read-only: mount it for writing and start again")
)
