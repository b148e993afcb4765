// Package artifact builds what clusters are made of and keeps it: the binaries
// of the nested modules (wec, containerd, coredns, image, clients, s3, etcd) and the archive of
// images. Each is kept under a hash of what it is made from, so that a change
// builds anew and nothing else does. Building needs a Go toolchain and, once,
// the module proxy.
//
// Commands and the cluster package import it; it knows nothing of clusters.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const kubernetesVersion = "v1.36.3"

// Test image references. Both versions hold the same program; VERSION in its
// environment differs, which is what a rolling update needs.
const (
	AppImage     = "localhost/skerry-testenv/app:1"
	AppImageNext = "localhost/skerry-testenv/app:2"
	PauseImage   = "localhost/skerry-testenv/pause:1"
	CoreDNSImage = "localhost/skerry-testenv/coredns:1"
)

// clusterModules is how many of modules clusters are made of. The others are what tests use beside
// clusters.
const clusterModules = 4

// module is a nested Go module and the programs that are built from it.
type module struct {
	name     string
	ldflags  string
	packages map[string]string // program -> package
}

func modules() []module {
	var version []string
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		version = append(version,
			"-X "+pkg+".gitVersion="+kubernetesVersion,
			"-X "+pkg+".gitMajor=1",
			"-X "+pkg+".gitMinor="+strings.Split(kubernetesVersion, ".")[1],
			"-X "+pkg+".gitTreeState=clean")
	}
	const containerd = "github.com/containerd/containerd/v2/cmd/"
	return []module{
		{"wec", "-s -w " + strings.Join(version, " "), map[string]string{"wec": "."}},
		{"containerd", "-s -w", map[string]string{
			"containerd":              containerd + "containerd",
			"containerd-shim-runc-v2": containerd + "containerd-shim-runc-v2",
			"ctr":                     containerd + "ctr",
		}},
		{"coredns", "-s -w", map[string]string{"coredns": "."}},
		{"image", "-s -w", map[string]string{"app": "."}},
		{"s3", "-s -w", map[string]string{"s3": "."}},
		{"etcd", "-s -w", map[string]string{"etcd": "go.etcd.io/etcd/server/v3"}},
		{"clients", "-s -w", map[string]string{"helm": "helm.sh/helm/v4/cmd/helm", "website-operator": "./operator"}},
	}
}

// wecNames are the names under which the one binary is each component.
var wecNames = []string{"kubectl", "kube-apiserver", "kubelet", "kube-proxy"}

// Kit is a set of artifacts.
type Kit struct {
	// Bin is a directory with every program by its usual name: kubectl, kube-apiserver, wec,
	// kubelet, kube-proxy, containerd, containerd-shim-runc-v2, ctr, coredns, app. Of Ensure it also
	// has helm, website-operator, s3 and etcd.
	Bin string
	// Images is the OCI archive with every image.
	Images string
}

// Path returns the path of a program of the kit.
func (k Kit) Path(program string) string { return filepath.Join(k.Bin, program) }

// Ensure returns the whole kit, building what the cache does not have. Progress goes
// to log, one line for each thing built.
func Ensure(ctx context.Context, log io.Writer) (Kit, error) { return ensure(ctx, log, modules()) }

// EnsureClusters is Ensure for what clusters alone need. The rest takes minutes to compile.
func EnsureClusters(ctx context.Context, log io.Writer) (Kit, error) {
	return ensure(ctx, log, modules()[:clusterModules])
}

func ensure(ctx context.Context, log io.Writer, modules []module) (Kit, error) {
	source, err := SourceDir()
	if err != nil {
		return Kit{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return Kit{}, err
	}
	store := store{dir: cache, log: log}
	var programs []string
	var keys []string
	for _, m := range modules {
		dir := filepath.Join(source, m.name)
		key, err := m.key(dir)
		if err != nil {
			return Kit{}, err
		}
		built, err := store.entry(ctx, m.name, key, func(into string) error { return m.build(ctx, dir, into) })
		if err != nil {
			return Kit{}, fmt.Errorf("build %s: %w", m.name, err)
		}
		for program := range m.packages {
			programs = append(programs, filepath.Join(built, program))
		}
		keys = append(keys, key)
	}
	bin, err := store.entry(ctx, "bin", hash(append(keys, wecNames...)...),
		func(into string) error { return link(into, programs) })
	if err != nil {
		return Kit{}, err
	}
	kit := Kit{Bin: bin}
	images, err := store.entry(ctx, "images", hash(keys[:clusterModules]...),
		func(into string) error { return kit.writeImages(into) })
	if err != nil {
		return Kit{}, fmt.Errorf("write images: %w", err)
	}
	kit.Images = filepath.Join(images, imagesFile)
	return kit, nil
}

// link fills the directory with a symbolic link for each program.
func link(into string, programs []string) error {
	var errs []error
	for _, p := range programs {
		names := []string{filepath.Base(p)}
		if names[0] == "wec" {
			names = append(names, wecNames...)
		}
		for _, name := range names {
			errs = append(errs, os.Symlink(p, filepath.Join(into, name)))
		}
	}
	return errors.Join(errs...)
}
