package artifact

import (
	"errors"
	"os"
	"path/filepath"

	"skerry.dev/skerry/testenv/oci"
)

const imagesFile = "images.tar"

// writeImages writes the archive of the images from the kit's programs.
func (k Kit) writeImages(into string) error {
	f, err := os.Create(filepath.Join(into, imagesFile))
	if err != nil {
		return err
	}
	app := []oci.File{
		{Path: "/app", Source: k.Path("app"), Mode: 0o755},
		{Path: "/tmp/", Mode: 0o1777},
		{Path: "/bin/", Mode: 0o755},
		{Path: "/bin/tar", Link: "/app", Mode: 0o777},
		{Path: "/bin/test", Link: "/app", Mode: 0o777},
	}
	coredns := []oci.File{{Path: "/coredns", Source: k.Path("coredns"), Mode: 0o755}}
	return errors.Join(oci.Write(f,
		oci.Image{Reference: AppImage, Files: app, Entrypoint: []string{"/app"}, Env: []string{"VERSION=1"}},
		oci.Image{Reference: AppImageNext, Files: app, Entrypoint: []string{"/app"}, Env: []string{"VERSION=2"}},
		oci.Image{Reference: PauseImage, Files: app, Entrypoint: []string{"/app", "pause"}},
		oci.Image{Reference: CoreDNSImage, Files: coredns, Entrypoint: []string{"/coredns"}},
	), f.Close())
}
