package admin

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The file of an exported space is JSON lines, compressed with zstd: an exportHeader, an
// exportedObject a line, an exportEnd.

// exportFormat is the version of the file's layout. A reader refuses a newer one.
const exportFormat = 1

// exportHeader is the first line.
type exportHeader struct {
	Format int `json:"skerrySpaceExport"`
	// ID names this export, so that an import that was interrupted knows its own objects again.
	ID    string `json:"id"`
	Space string `json:"space"`
	// Spec and Labels of the Space object.
	Spec   map[string]any    `json:"spec,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Revision is that of all objects: the export is of one moment.
	Revision string    `json:"revision"`
	Made     time.Time `json:"made"`
}

// exportedObject is an object as the API shows it, and under which resource.
type exportedObject struct {
	Resource string         `json:"resource"`
	Object   map[string]any `json:"object"`
}

// exportEnd is the last line: without it the file is not whole.
type exportEnd struct {
	Objects *int   `json:"objects"`
	SHA256  string `json:"sha256"` // of all lines before
}

// errNotAnExport is returned for a file that is none, or not whole.
var errNotAnExport = errors.New("not a whole export of a space; export it again")

// exportWriter writes a file that appears as a whole when it is finished, mode 0600.
type exportWriter struct {
	path string
	file *os.File
	zstd *zstd.Encoder
	sum  hash.Hash
	json *json.Encoder
	n    int
}

func newExportWriter(path string, h exportHeader) (*exportWriter, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s exists already; give the export another name", path)
	}
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w: another export writes it, or left it behind: remove it first", err)
	} else if err != nil {
		return nil, fmt.Errorf("write the export: %w", err)
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	w := &exportWriter{path: path, file: f, zstd: z, sum: sha256.New()}
	w.json = json.NewEncoder(io.MultiWriter(z, w.sum))
	w.json.SetEscapeHTML(false)
	return w, w.json.Encode(h)
}

func (w *exportWriter) put(o exportedObject) error {
	w.n++
	return w.json.Encode(o)
}

// finish ends the file; after another error it is removed.
func (w *exportWriter) finish(err error) error {
	if err == nil {
		err = json.NewEncoder(w.zstd).Encode(exportEnd{Objects: &w.n, SHA256: hex.EncodeToString(w.sum.Sum(nil))})
	}
	err = errors.Join(err, w.zstd.Close())
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	if err == nil {
		err = os.Link(w.file.Name(), w.path) // never over a file that came meanwhile
	}
	return errors.Join(err, os.Remove(w.file.Name()))
}

// maxLine is the longest line that is read: an object, with room for what JSON makes of it.
const maxLine = 32 << 20

// readExport reads a file to its end and calls visit with each object. A file that is not whole
// ends with errNotAnExport, after visits.
func readExport(path string, visit func(n int, o exportedObject) error) (h exportHeader, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, fmt.Errorf("open the export: %w", err)
	}
	defer f.Close()
	z, err := zstd.NewReader(
		f,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(64<<20),
		zstd.WithDecoderMaxWindow(32<<20),
	)
	if err != nil {
		return h, err
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	broken := func(why any) error { return fmt.Errorf("%s: %w: %v", path, errNotAnExport, why) }
	sum, n := sha256.New(), 0
	for first := true; lines.Scan(); first = false {
		line := lines.Bytes()
		if first {
			if json.Unmarshal(line, &h) != nil || h.Format < 1 || h.Space == "" || h.ID == "" {
				return h, broken("it does not begin as one")
			}
			if h.Format > exportFormat {
				return h, fmt.Errorf(
					"%s has format %d, this version reads up to %d: import it with a newer one",
					path,
					h.Format,
					exportFormat,
				)
			}
		} else if !bytes.HasPrefix(line, []byte(`{"resource":`)) {
			return h, atEnd(lines, line, n, hex.EncodeToString(sum.Sum(nil)), broken)
		} else {
			var o exportedObject
			if err := json.Unmarshal(line, &o); err != nil {
				return h, broken(err)
			}
			if err := visit(n, o); err != nil {
				return h, err
			}
			n++
		}
		sum.Write(line)
		sum.Write([]byte{'\n'})
	}
	if err := lines.Err(); err != nil {
		return h, broken(err)
	}
	return h, broken("its end is missing")
}

func atEnd(lines *bufio.Scanner, line []byte, n int, sum string, broken func(any) error) error {
	var end exportEnd
	if err := json.Unmarshal(line, &end); err != nil || end.Objects == nil {
		return broken("its end cannot be read")
	}
	if *end.Objects != n || end.SHA256 != sum {
		return broken("its end does not fit what is before")
	}
	if lines.Scan() || lines.Err() != nil {
		return broken("something follows its end")
	}
	return nil
}
