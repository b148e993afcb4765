package mover

// Report is what a round has done.
type Report struct {
	// Files, directories and symbolic links that the source has; and names of files beside their first.
	Files    int64 `json:"files"`
	Dirs     int64 `json:"directories"`
	Symlinks int64 `json:"symlinks"`
	Links    int64 `json:"links"`
	// Bytes that the files hold, and of these what was sent.
	Bytes int64 `json:"bytes"`
	Sent  int64 `json:"sent"`
	// Skipped are the first paths that are not copied, since they are sockets, pipes or devices; Unkept are the
	// first of which the copy lacks an owner, a mode or an attribute, with which.
	Skipped Names `json:"skipped"`
	Unkept  Names `json:"unkept"`
}

// Names are the first of some paths.
type Names struct {
	First []string `json:"first,omitempty"`
	Count int64    `json:"count"`
}

// maxNamed is how many of them are named.
const maxNamed = 5

func (n *Names) add(path string) {
	if n.Count++; len(n.First) < maxNamed {
		n.First = append(n.First, path)
	}
}
