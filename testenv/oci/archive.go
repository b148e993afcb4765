// Package oci writes images as OCI archives (a tar of an image layout, image
// spec v1.1), so that a static program becomes an image without a registry, a
// daemon or a base image. containerd imports such an archive as it is.
//
// The same input gives the same bytes. Layers are not compressed: the archive
// is read once, on the same machine.
package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
)

// Image is one image FROM scratch.
type Image struct {
	// Reference is the full name with a tag, as in localhost/app:1.
	Reference string
	// Files are its only layer.
	Files []File
	// Entrypoint and Env are defaults that a pod may change.
	Entrypoint []string
	Env        []string
	// User is who runs it, as UID or UID:GID. Empty is root.
	User string
}

// Write writes an archive that holds the images. Equal layers are stored once.
func Write(w io.Writer, images ...Image) error {
	a := &archive{tar: tar.NewWriter(w), blobs: map[string]bool{}}
	if err := a.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	index := index{SchemaVersion: 2, MediaType: mediaIndex}
	for _, image := range images {
		d, err := a.image(image)
		if err != nil {
			return fmt.Errorf("image %s: %w", image.Reference, err)
		}
		index.Manifests = append(index.Manifests, d)
	}
	data, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return errors.Join(a.file("index.json", data), a.tar.Close())
}

type archive struct {
	tar   *tar.Writer
	blobs map[string]bool
}

// image writes layer, configuration and manifest, and returns the descriptor of
// the manifest.
func (a *archive) image(image Image) (descriptor, error) {
	var content bytes.Buffer
	if err := writeLayer(&content, image.Files); err != nil {
		return descriptor{}, err
	}
	layer, err := a.blob(mediaLayer, content.Bytes())
	if err != nil {
		return descriptor{}, err
	}
	c := imageConfig{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		Config:       runConfig{Entrypoint: image.Entrypoint, Env: image.Env, User: image.User},
		// Without compression the layer's digest is also its diff id.
		RootFS: rootFS{Type: "layers", DiffIDs: []string{layer.Digest}},
	}
	config, err := a.jsonBlob(mediaConfig, c)
	if err != nil {
		return descriptor{}, err
	}
	m := manifest{SchemaVersion: 2, MediaType: mediaManifest, Config: config, Layers: []descriptor{layer}}
	d, err := a.jsonBlob(mediaManifest, m)
	if err != nil {
		return descriptor{}, err
	}
	d.Platform = &platform{Architecture: runtime.GOARCH, OS: "linux"}
	d.Annotations = map[string]string{
		// containerd names an imported image by this, and docker by the other.
		"io.containerd.image.name":          image.Reference,
		"org.opencontainers.image.ref.name": image.Reference,
	}
	return d, nil
}

func (a *archive) jsonBlob(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return a.blob(mediaType, data)
}

func (a *archive) blob(mediaType string, data []byte) (descriptor, error) {
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	d := descriptor{MediaType: mediaType, Digest: "sha256:" + digest, Size: int64(len(data))}
	if a.blobs[digest] {
		return d, nil
	}
	a.blobs[digest] = true
	return d, a.file("blobs/sha256/"+digest, data)
}

func (a *archive) file(name string, data []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := a.tar.Write(data)
	return err
}
