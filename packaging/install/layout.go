package install

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// usual is where the program is installed, and ofAdmins where that is read-only, as on Flatcar and
// bootc. kubectl finds it as plugin in the same directory, and asks completer what may come next.
const (
	usual     = "/usr/bin/skerry"
	ofAdmins  = "/opt/bin/skerry"
	plugin    = "kubectl-skerry"
	completer = KubectlName
)

// layout is where an installation has its files.
type layout struct {
	// program is the path of the program.
	program string
	// inPlace says that the program runs from where it lies, so that it is neither copied nor removed.
	inPlace bool
	// why says what is other than usual, "" for nothing.
	why string
}

// usual reports whether the files are where a package has them, too.
func (l layout) usual() bool { return l.program == usual }

// links are the other names of the program.
func (l layout) links() []string {
	if l.inPlace {
		return nil
	}
	dir := filepath.Dir(l.program)
	return []string{filepath.Join(dir, plugin), filepath.Join(dir, completer)}
}

// place returns the files as the layout has them. Where /usr is read-only the machine's settings go to
// /etc, and man pages and completions are left out.
func (l layout) place(files []File) (out []File) {
	if l.usual() {
		return files
	}
	for _, f := range files {
		f.Text = strings.ReplaceAll(f.Text, "ExecStart="+usual, "ExecStart="+l.program)
		if rest, found := strings.CutPrefix(f.Path, "/usr/lib/"); found {
			f.Path = "/etc/" + rest
		} else if strings.HasPrefix(f.Path, "/usr/") {
			continue
		}
		out = append(out, f)
	}
	return out
}

// hidden are directories that units do not see, and those that are empty after a boot.
var hidden = []string{"/home/", "/root/", "/run/", "/tmp/", "/var/tmp/", "/dev/"}

// choose looks where the machine takes the program and files, and changes nothing.
func (m *machine) choose(files []File) (layout, error) {
	at := layout{program: usual}
	readOnly := m.checkWritable(at, files)
	if readOnly == nil {
		return at, nil
	}
	why := "/usr cannot be written (" + readOnly.Error() + "): the program "
	const rest = ", and there are no man pages; completion: skerry completion --help"
	at = layout{program: ofAdmins, why: why + "goes to " + ofAdmins + rest}
	if m.checkWritable(at, files) == nil {
		return at, nil
	}
	self, err := m.self()
	if err != nil {
		return at, fmt.Errorf("find this program: %w", err)
	}
	at = layout{program: self, inPlace: true, why: why + "runs from where it lies, " + self + rest}
	if slices.ContainsFunc(hidden, func(dir string) bool { return strings.HasPrefix(self, dir) }) {
		return at, fmt.Errorf("neither /usr nor /opt can be written (%w), and a service cannot run %s: "+
			"copy it to a directory that stays and that services see, such as /var/lib/skerry-bin, and run it from there",
			readOnly, self)
	}
	return at, m.checkWritable(at, files)
}

// checkWritable returns why a file of a layout cannot be written.
func (m *machine) checkWritable(l layout, files []File) error {
	paths := []string{configDir, credentialsDir + "/token", mode("center").data(), mode("agent").data()}
	if !l.inPlace {
		paths = append(paths, l.program)
	}
	for _, f := range l.place(files) {
		paths = append(paths, f.Path)
	}
	for _, path := range paths {
		if err := m.access(m.existing(path)); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}

// existing returns a path on this machine, or the directory above it that is there.
func (m *machine) existing(path string) string {
	for ; path != "/"; path = filepath.Dir(path) {
		if _, err := os.Stat(m.path(path)); err == nil {
			break
		}
	}
	return m.path(path)
}

// writable returns why nobody can write a path: its file system is read-only, or its attributes forbid it.
// That another user may is no reason, so that a dry run of anybody says what root would meet.
func writable(path string) error {
	err := unix.Access(path, unix.W_OK)
	if errors.Is(err, unix.EACCES) && os.Geteuid() != 0 {
		return nil
	}
	return err
}
