package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"skerry.dev/skerry/tunnel/output"
)

// Limits of a bundle, before it is compressed.
const (
	maxFile  = 8 << 20
	maxTotal = 64 << 20
)

// ErrExists is returned by Create for a file that is there.
var ErrExists = errors.New("the file exists already; name another with -f, or remove it")

// Manifest is the file manifest.json of a bundle.
type Manifest struct {
	Version string    `json:"version"`
	Made    time.Time `json:"made"`
	// Files are all others.
	Files []File `json:"files"`
}

// File is one file of a bundle, or one that should be in it.
type File struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	// Cut is how many bytes of its beginning were left out, because the end is newer.
	Cut int `json:"cut,omitempty"`
	// Missing is why it is not in the bundle.
	Missing string `json:"missing,omitempty"`
}

// Writer writes a bundle. It is for one goroutine.
type Writer struct {
	path     string
	file     *os.File
	zstd     *zstd.Encoder
	tar      *tar.Writer
	scrub    *Scrubber
	manifest Manifest
	room     int
	err      error // the first
}

// Create makes a new file of mode 0600. It returns ErrExists, wrapped, for one that is there.
func Create(path, version string, scrub *Scrubber) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s: %w", path, ErrExists)
	} else if err != nil {
		return nil, fmt.Errorf("make the bundle: %w; name another file with -f", err)
	}
	z, err := zstd.NewWriter(f)
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return &Writer{path: path, file: f, zstd: z, tar: tar.NewWriter(z), scrub: scrub, room: maxTotal,
		manifest: Manifest{Version: version, Made: time.Now().UTC().Truncate(time.Second), Files: []File{}}}, nil
}

// Add adds a file with this content, without secrets. Of one that is too long it keeps the end.
func (w *Writer) Add(name string, content []byte) {
	limit := min(maxFile, w.room)
	f := File{Name: name}
	if f.Cut = len(content) - limit; f.Cut > 0 {
		content = content[f.Cut:]
		// A secret that was cut in its middle is not recognized: the first line goes as a whole.
		if i := bytes.IndexByte(content, '\n'); i >= 0 {
			content, f.Cut = content[i+1:], f.Cut+i+1
		}
	} else {
		f.Cut = 0
	}
	content = w.scrub.Scrub(content)
	f.Bytes = len(content)
	w.room -= len(content)
	w.manifest.Files = append(w.manifest.Files, f)
	w.put(name, content)
}

// Miss notes why a file is not there.
func (w *Writer) Miss(name, format string, args ...any) {
	why := string(w.scrub.Scrub(fmt.Appendf(nil, format, args...)))
	w.manifest.Files = append(w.manifest.Files, File{Name: name, Missing: why})
}

// AddJSON adds a value.
func (w *Writer) AddJSON(name string, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.Miss(name, "%s", err)
		return
	}
	w.Add(name, data)
}

func (w *Writer) put(name string, content []byte) {
	if w.err != nil {
		return
	}
	w.err = w.tar.WriteHeader(&tar.Header{Name: "skerry-support/" + name, Mode: 0o600, Size: int64(len(content)),
		ModTime: w.manifest.Made, Format: tar.FormatPAX})
	if w.err == nil {
		_, w.err = w.tar.Write(content)
	}
}

// Close writes the manifest and makes the bundle durable. A bundle that could not be written as a
// whole is removed.
func (w *Writer) Close() error {
	data, err := json.MarshalIndent(w.manifest, "", "  ")
	if err == nil {
		w.put("manifest.json", data)
	}
	written := func() error { return w.err }
	for _, end := range []func() error{written, w.tar.Close, w.zstd.Close, w.file.Sync, w.file.Close} {
		if e := end(); err == nil { // what comes after the first error follows from it
			err = e
		}
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", errors.Join(output.Full(err, "-f"), os.Remove(w.path)))
	}
	return nil
}

// Manifest returns what is in the bundle so far.
func (w *Writer) Manifest() Manifest { return w.manifest }

// ReadBounded reads as much as a file of a bundle holds.
func ReadBounded(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, maxFile)) }
