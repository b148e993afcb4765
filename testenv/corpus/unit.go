package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// Unit is one construct: manifests and commands, and how a space may differ from a cluster.
type Unit struct {
	// Name is the directory's name and the namespace in which the unit runs.
	Name string
	dir  string
	// steps are file names, in order.
	steps []string
	// limit is how long both sides have to become equal after a step.
	limit    time.Duration
	declared []declared
	// madeUp are differences that mean nothing, because the bundle makes up the values.
	madeUp []declared
	// bundle is what is installed instead of steps.
	bundle *bundle
}

// declared is a difference that has a reason.
type declared struct {
	// Object is Kind/name; a * stands for any text.
	Object string `json:"object"`
	// Path is where the objects differ; a * stands for any text. Of an object that only one side
	// has it is "*".
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Step is the only step of a bundle in which it may differ; empty means all.
	Step string `json:"step"`

	// common says that it is declared for all units, and seen that this unit has shown it.
	common, seen bool
}

const defaultLimit = 60 * time.Second

// Load reads all units below a directory, sorted by name.
func Load(dir string) ([]Unit, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	common, err := loadDeclared(filepath.Join(dir, settingsFile))
	if err != nil {
		return nil, err
	}
	var units []Unit
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		u, err := loadUnit(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("unit %s: %w", e.Name(), err)
		}
		u.declared = append(u.declared, common...)
		units = append(units, u)
	}
	return units, nil
}

func loadUnit(dir string) (Unit, error) {
	u := Unit{Name: filepath.Base(dir), dir: dir, limit: defaultLimit}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return u, err
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || name == settingsFile {
			continue
		}
		if _, err := verbOf(name); err != nil {
			return u, err
		}
		u.steps = append(u.steps, name)
	}
	slices.Sort(u.steps)
	if len(u.steps) == 0 {
		return u, errors.New("it has no steps")
	}
	return u, u.loadSettings()
}

const settingsFile = "unit.yaml"

// settings are what a unit.yaml says.
type settings struct {
	Limit    string     `json:"limit"`
	Declared []declared `json:"declared"`
	// Path is where a bundle is below its directory, and Values are those of a chart.
	Path   string         `json:"path"`
	Values map[string]any `json:"values"`
}

func (u *Unit) loadSettings() error {
	s, err := readSettings(filepath.Join(u.dir, settingsFile))
	if err != nil {
		return err
	}
	return u.set(s)
}

func (u *Unit) set(s settings) (err error) {
	u.declared = s.Declared
	if s.Limit != "" {
		if u.limit, err = time.ParseDuration(s.Limit); err != nil {
			return fmt.Errorf("%s: limit: %w", settingsFile, err)
		}
	}
	return nil
}

// loadDeclared reads the differences that are declared for all units.
func loadDeclared(file string) ([]declared, error) {
	s, err := readSettings(file)
	for i := range s.Declared {
		s.Declared[i].common = true
	}
	return s.Declared, err
}

func readSettings(file string) (s settings, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := yaml.UnmarshalStrict(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	for _, d := range s.Declared {
		if d.Object == "" || d.Path == "" || d.Reason == "" {
			return s, fmt.Errorf("%s: a declared difference needs object, path and reason", file)
		}
	}
	return s, nil
}

// verbOf returns what to do with a step's file: apply, create, replace, ssa, delete or run.
func verbOf(file string) (string, error) {
	switch parts := strings.Split(file, "."); {
	case len(parts) == 3 && parts[2] == "yaml" && slices.Contains([]string{"apply", "create", "replace", "ssa",
		"delete"}, parts[1]):
		return parts[1], nil
	case len(parts) == 2 && parts[1] == "run":
		return "run", nil
	}
	return "", fmt.Errorf("file %s: want N.apply.yaml, N.create.yaml, N.replace.yaml, N.ssa.yaml, "+
		"N.delete.yaml or N.run", file)
}

// declares returns the reason of a declared difference, or "".
func (u *Unit) declares(d difference) string {
	for i, may := range u.declared {
		if matches(may.Object, d.object) && matches(may.Path, d.path) && (may.Step == "" || may.Step == d.step) {
			u.declared[i].seen = true
			return may.Reason
		}
	}
	return ""
}

// meaningful are the differences but for those in what the bundle makes up.
func (u *Unit) meaningful(all []difference) []difference {
	return slices.DeleteFunc(all, func(d difference) bool {
		return slices.ContainsFunc(u.madeUp, func(m declared) bool {
			return matches(m.Object, d.object) && matches(m.Path, d.path)
		})
	})
}

// unused are what the unit itself declares and has not shown.
func (u *Unit) unused() (out []declared) {
	for _, d := range u.declared {
		if !d.seen && !d.common {
			out = append(out, d)
		}
	}
	return out
}

// matches says whether a text has the form of a pattern, in which * stands for any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
