package agent

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropText takes the read-only pages of this binary out of the process. They are file-backed: what
// is needed again comes back from the page cache, a few pages at a time. A failure leaves things as
// they are.
func dropText() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if start, size, ok := readOnlyMapping(lines.Text(), exe); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, size, syscall.MADV_DONTNEED)
		}
	}
}

// readOnlyMapping parses a line of /proc/self/maps and reports whether it is a mapping of the file
// that cannot have been written to.
func readOnlyMapping(line, file string) (start, size uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || strings.Join(fields[5:], " ") != file || fields[1] != "r-xp" && fields[1] != "r--p" {
		return 0, 0, false
	}
	from, to, found := strings.Cut(fields[0], "-")
	a, err := strconv.ParseUint(from, 16, 64)
	b, err2 := strconv.ParseUint(to, 16, 64)
	if !found || err != nil || err2 != nil || b <= a {
		return 0, 0, false
	}
	return uintptr(a), uintptr(b - a), true
}
