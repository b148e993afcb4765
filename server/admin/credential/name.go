package credential

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Name says whose credentials are meant: of a user of a space, or, for the space root, of an admin
// of the center.
type Name struct {
	// Center is what the user calls the center: center.example.com, or 10.0.0.1:7543.
	Center string
	Space  string
}

// String returns CENTER/SPACE.
func (n Name) String() string { return n.Center + "/" + n.Space }

// centerName is what a center may be called. It is the name of a directory, and so neither "." nor
// "..".
var centerName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9._:]{0,251}[A-Za-z0-9])?$`)

// CheckCenter returns an error for what a center cannot be called.
func CheckCenter(name string) error {
	if !centerName.MatchString(name) {
		return fmt.Errorf("name of a center %q: use letters, digits, '-', '.', '_' and ':', at most 253", name)
	}
	return nil
}

// ParseName parses CENTER/SPACE.
func ParseName(s string) (Name, error) {
	center, space, ok := strings.Cut(s, "/")
	if !ok || CheckCenter(center) != nil || len(validation.IsDNS1123Label(space)) > 0 {
		return Name{}, fmt.Errorf("%q does not name credentials: write CENTER/SPACE", s)
	}
	return Name{center, space}, nil
}
