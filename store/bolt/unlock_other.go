//go:build !unix

package bolt

import "os"

// unlock does nothing where closing the file is enough.
func unlock(*os.File) {}
