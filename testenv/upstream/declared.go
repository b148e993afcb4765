package upstream

import (
	"fmt"
	"os"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"
)

// Declared is the list of upstream's tests by their names: those that are run, and those that are
// not, with the reason.
type Declared struct {
	Run []string `json:"run"`
	// WithSite are run in a space of a center that has a site, because they are about what
	// controllers and nodes do.
	WithSite []string `json:"withSite"`
	Excluded []struct {
		Reason string   `json:"reason"`
		Tests  []string `json:"tests"`
	} `json:"excluded"`
}

// Load reads a list. No test may be in it twice, and every exclusion needs a reason.
func Load(path string) (*Declared, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the declared tests: %w", err)
	}
	var d Declared
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return nil, fmt.Errorf("read the declared tests of %s: %w", path, err)
	}
	seen := map[string]bool{}
	add := func(tests []string) error {
		for _, name := range tests {
			if seen[name] {
				return fmt.Errorf("%s: %q is listed twice", path, name)
			}
			seen[name] = true
		}
		return nil
	}
	if err := add(append(slices.Clone(d.Run), d.WithSite...)); err != nil {
		return nil, err
	}
	for _, e := range d.Excluded {
		if len(e.Reason) < 10 {
			return nil, fmt.Errorf("%s: %q are excluded without a reason", path, e.Tests)
		}
		if err := add(e.Tests); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

// chosen are those of a list that match focus, in the order of the list.
func chosen(list []string, focus *regexp.Regexp) (names []string) {
	for _, name := range list {
		if focus == nil || focus.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// Left is how many tests are excluded.
func (d *Declared) Left() (n int) {
	for _, e := range d.Excluded {
		n += len(e.Tests)
	}
	return n
}

// Check compares the list with the tests that there are: each is to be listed, and nothing else.
func (d *Declared) Check(existing []string) error {
	listed := map[string]bool{}
	for _, name := range slices.Concat(d.Run, d.WithSite) {
		listed[name] = true
	}
	for _, e := range d.Excluded {
		for _, name := range e.Tests {
			listed[name] = true
		}
	}
	for _, name := range existing {
		if !listed[name] {
			return fmt.Errorf("%q is a test of upstream that is not declared", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		return fmt.Errorf("%q is declared but is no test of upstream", name)
	}
	return nil
}
