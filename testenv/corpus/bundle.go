package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// bundle is what somebody else wrote: a chart, a kustomization, or manifests. It is not changed for the
// corpus; what a user would say at its installation is in the settings beside it.
type bundle struct {
	form form
	// path is the chart, the kustomization, or the directory or file of the manifests.
	path string
	// values are those of a chart's user.
	values map[string]any
}

type form string

const (
	chart         form = "chart"
	kustomization form = "kustomization"
	manifests     form = "manifests"
)

// LoadBundles reads the bundles of a directory, sorted by name: each is an entry of it, or a link to
// one elsewhere. The settings of the entry NAME are in NAME.settings.yaml beside it. The files common
// declare differences for all of them.
func LoadBundles(dir string, common ...string) ([]Unit, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the bundles: %w", err)
	}
	var shared []declared
	for _, file := range common {
		more, err := loadDeclared(file)
		if err != nil {
			return nil, err
		}
		shared = append(shared, more...)
	}
	var units []Unit
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), bundleSettings) {
			continue
		}
		u, err := loadBundle(dir, e.Name())
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", e.Name(), err)
		}
		u.declared = append(u.declared, shared...)
		units = append(units, u)
	}
	return units, nil
}

const bundleSettings = ".settings.yaml"

func loadBundle(dir, entry string) (Unit, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(entry, ".yaml"), ".yml")
	u := Unit{Name: name, dir: dir, limit: defaultLimit, bundle: &bundle{}}
	s, err := readSettings(filepath.Join(dir, name+bundleSettings))
	if err != nil {
		return u, err
	}
	if err := u.set(s); err != nil {
		return u, err
	}
	u.bundle.values = s.Values
	path, err := filepath.EvalSymlinks(filepath.Join(dir, entry))
	if err != nil {
		return u, err
	}
	u.bundle.path = filepath.Join(path, filepath.FromSlash(s.Path))
	u.bundle.form, err = formOf(u.bundle.path)
	return u, err
}

// formOf says what is at a path.
func formOf(path string) (form, error) {
	for file, f := range map[string]form{"Chart.yaml": chart, "kustomization.yaml": kustomization,
		"kustomization.yml": kustomization} {
		if _, err := os.Stat(filepath.Join(path, file)); err == nil {
			return f, nil
		}
	}
	files, err := manifestFiles(path)
	if err == nil && len(files) == 0 {
		err = errors.New("it has neither a Chart.yaml, nor a kustomization.yaml, nor manifests")
	}
	return manifests, err
}

// manifestFiles are the files of manifests at and below a path, in the order in which kubectl reads them.
func manifestFiles(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(file); err == nil && !e.IsDir() && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
			files = append(files, file)
		}
		return err
	})
	return files, err
}

// concatenated is one manifest of all files.
func concatenated(files []string) (string, error) {
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&all, "\n---\n%s", data)
	}
	return all.String(), nil
}

// objectsOf are the objects of a manifest. A List is what it has in it.
func objectsOf(manifest string) (out []object, err error) {
	for _, doc := range separated(manifest) {
		var o object
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, err
		}
		if o.text("kind") == "" {
			continue
		}
		items, isList := o.at("items").([]any)
		if !isList {
			out = append(out, o)
			continue
		}
		for _, item := range items {
			if m, ok := item.(map[string]any); ok {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// separated are the documents of a manifest.
func separated(manifest string) (docs []string) {
	var doc strings.Builder
	for line := range strings.Lines(manifest) {
		if strings.HasPrefix(line, "---") {
			docs = append(docs, doc.String())
			doc.Reset()
			continue
		}
		doc.WriteString(line)
	}
	return append(docs, doc.String())
}

// madeUp are the values that two renderings of a chart do not have in common, such as passwords, as
// differences that mean nothing.
func madeUp(one, other string) (paths []declared, err error) {
	a, err := objectsOf(one)
	if err != nil {
		return nil, err
	}
	b, err := objectsOf(other)
	if err != nil {
		return nil, err
	}
	_, differences := compare(a, b)
	for _, d := range differences {
		// A Pod has what its template has.
		path := d.path[strings.LastIndex(d.path, template)+1:]
		paths = append(paths, declared{Object: "*", Path: "*" + strings.TrimPrefix(path, template[1:]),
			Reason: "made up at each rendering"})
	}
	return paths, nil
}

const template = ".template."

// namespacesOf are the namespaces that a manifest names, and those of them that it makes itself.
func namespacesOf(ids []identity) (named, made []string) {
	for _, id := range ids {
		switch {
		case id.kind == "Namespace":
			made, named = append(made, id.name), append(named, id.name)
		case id.namespace != "":
			named = append(named, id.namespace)
		}
	}
	slices.Sort(named)
	return slices.Compact(named), made
}

// kept are the namespaces that every cluster has. They are not deleted, and of what is in them only
// the objects of the bundle are looked at.
var kept = []string{"default", "kube-system", "kube-public", "kube-node-lease"}
