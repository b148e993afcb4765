package bolt

import "errors"

var (
	// ErrNewerFormat is returned by Open for a file that a newer version has written.
	ErrNewerFormat = errors.New("the file is of a newer format")
	// ErrLocked is returned by Open when another process has the file open.
	ErrLocked = errors.New("the file is in use by another process")
	// ErrCorrupt is returned when the file or a record in it cannot be read.
	ErrCorrupt = errors.New("the file is corrupt")
	// ErrSealed is returned for a body that was encrypted under another key.
	ErrSealed = errors.New("the body is encrypted under another key")
)
