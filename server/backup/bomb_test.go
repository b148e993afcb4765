package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const bombSize = smallDatabase + smallDatabase/2

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A small archive that would become a large database is refused before that is on the disk. So is one
// with a sparse file, whose zeros are not even packed.
func TestDecompressionBomb(t *testing.T) {
	whole := &tar.Header{Name: "state.db", Size: bombSize}
	sparse := &tar.Header{Name: "state.db", Size: 512, Format: tar.FormatPAX, PAXRecords: map[string]string{
		// archive/tar writes no sparse files, so the records get their names below
		"GNX.sparse.major": "1", "GNX.sparse.minor": "0", "GNX.sparse.name": "state.db",
		"GNX.sparse.realsize": fmt.Sprint(bombSize)}}
	holes := fmt.Sprintf("1\n%d\n0\n", bombSize)
	for name, bomb := range map[string][]byte{
		"zeros":  packed(t, whole, io.LimitReader(zeros{}, bombSize)),
		"sparse": packed(t, sparse, strings.NewReader(holes+strings.Repeat("\x00", 512-len(holes)))),
	} {
		file := filepath.Join(t.TempDir(), "f")
		write(t, file, bomb)
		_, err := Verify(t.Context(), file, "state.db")
		if !errors.Is(err, ErrNotABackup) || !strings.Contains(err.Error(), "became more than") {
			t.Errorf("%s, %d bytes: %v", name, len(bomb), err)
		}
	}
}

// packed is an archive with a database.
func packed(t *testing.T, header *tar.Header, content io.Reader) []byte {
	var buf bytes.Buffer
	z, err := zstd.NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	tw := tar.NewWriter(renamer{z})
	manifest := `{"format":1,"incarnation":"abc","revision":17}`
	err = errors.Join(tw.WriteHeader(&tar.Header{Name: manifestFile, Size: int64(len(manifest))}),
		errOf(io.WriteString(tw, manifest)), tw.WriteHeader(header))
	if err == nil {
		_, err = io.Copy(tw, content)
	}
	if err = errors.Join(err, tw.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// renamer gives records of sparse files their names.
type renamer struct{ io.Writer }

func (r renamer) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("GNX.")) {
		return r.Writer.Write(p)
	}
	return r.Writer.Write(bytes.ReplaceAll(p, []byte("GNX."), []byte("GNU.")))
}
