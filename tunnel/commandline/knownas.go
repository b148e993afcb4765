package commandline

import "strings"

// KnownAs returns an error that says known in place of a path of this moment, such as that of a temporary file: it
// is gone when people read of it. It is err where that does not name the path.
func KnownAs(err error, path, known string) error {
	if err == nil || !strings.Contains(err.Error(), path) {
		return err
	}
	return &knownAs{strings.ReplaceAll(err.Error(), path, known), err}
}

// knownAs is an error with other words.
type knownAs struct {
	text string
	err  error
}

func (e *knownAs) Error() string { return e.text }
func (e *knownAs) Unwrap() error { return e.err }
