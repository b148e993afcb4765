package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func testImages(t *testing.T) []Image {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("not really a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []File{{Path: "/program", Source: program, Mode: 0o755}, {Path: "/tmp/", Mode: 0o1777}}
	return []Image{
		{Reference: "localhost/a:1", Files: files, Entrypoint: []string{"/program"}, Env: []string{"VERSION=1"}},
		{Reference: "localhost/b:1", Files: files, Entrypoint: []string{"/program", "pause"}, User: "65532"},
	}
}

// contents reads an archive and checks each blob against its name.
func contents(t *testing.T, archive []byte) map[string][]byte {
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := files[header.Name]; twice {
			t.Errorf("%s is there twice", header.Name)
		}
		files[header.Name] = data
		if digest, ok := strings.CutPrefix(header.Name, "blobs/sha256/"); ok {
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
				t.Errorf("blob %s has another digest", digest)
			}
		}
	}
}

func TestArchiveIsComplete(t *testing.T) {
	var archive bytes.Buffer
	if err := Write(&archive, testImages(t)...); err != nil {
		t.Fatal(err)
	}
	files := contents(t, archive.Bytes())
	blob := func(d descriptor, into any) []byte {
		t.Helper()
		data, ok := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if !ok || int64(len(data)) != d.Size {
			t.Fatalf("blob %s of %d bytes: have %d", d.Digest, d.Size, len(data))
		}
		if into != nil {
			if err := json.Unmarshal(data, into); err != nil {
				t.Fatal(err)
			}
		}
		return data
	}
	var all index
	if err := json.Unmarshal(files["index.json"], &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Manifests) != 2 {
		t.Fatalf("%d manifests", len(all.Manifests))
	}
	for i, want := range []string{"localhost/a:1", "localhost/b:1"} {
		if got := all.Manifests[i].Annotations["io.containerd.image.name"]; got != want {
			t.Errorf("image %d is named %q", i, got)
		}
		var m manifest
		blob(all.Manifests[i], &m)
		var c imageConfig
		blob(m.Config, &c)
		if want := []string{"", "65532"}[i]; c.Config.User != want {
			t.Errorf("image %d is run by user %q, want %q", i, c.Config.User, want)
		}
		if c.RootFS.DiffIDs[0] != m.Layers[0].Digest {
			t.Errorf("%s: diff id is not the layer's", want)
		}
		layer := contents(t, blob(m.Layers[0], nil))
		if string(layer["program"]) != "not really a program" {
			t.Errorf("%s: layer has %q", want, layer)
		}
	}
}

func TestLayerModes(t *testing.T) {
	var layer bytes.Buffer
	if err := writeLayer(&layer, testImages(t)[0].Files); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"program": 0o755, "tmp/": 0o1777}
	for r := tar.NewReader(&layer); len(want) > 0; {
		header, err := r.Next()
		if err != nil {
			t.Fatalf("missing %v: %v", want, err)
		}
		if header.Mode != want[header.Name] || header.Uid != 0 || !header.ModTime.IsZero() && header.ModTime.Unix() != 0 {
			t.Errorf("%s: mode %o, uid %d, time %s", header.Name, header.Mode, header.Uid, header.ModTime)
		}
		delete(want, header.Name)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	images := testImages(t)
	var one, two bytes.Buffer
	if err := errors.Join(Write(&one, images...), Write(&two, images...)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("two archives of the same images differ")
	}
}

func TestMissingFileIsAnError(t *testing.T) {
	err := Write(io.Discard, Image{Reference: "localhost/a:1",
		Files: []File{{Path: "/x", Source: filepath.Join(t.TempDir(), "none")}}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
