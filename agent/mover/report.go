package mover

// Report is what a round has done.
type Report struct {
	// Files, directories and symbolic links that the source has; and names of files beside their first.
	Files, Dirs, Symlinks, Links int64
	// Bytes that the files hold, and of these what was sent.
	Bytes, Sent int64
	// Skipped are the first paths that are not copied, since they are sockets, pipes or devices; Unkept are the
	// first of which the copy lacks an owner, a mode or an attribute, with which.
	Skipped, Unkept Names
}

// Names are the first of some paths.
type Names struct {
	First []string
	Count int64
}

// maxNamed is how many of them are named.
const maxNamed = 5

func (n *Names) add(path string) {
	if n.Count++; len(n.First) < maxNamed {
		n.First = append(n.First, path)
	}
}
