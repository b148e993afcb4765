package agent

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func residentFile(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb
}

func TestDropText(t *testing.T) {
	before := residentFile(t)
	dropText()
	if after := residentFile(t); after > before*3/4 {
		t.Errorf("%d KB of files resident before, %d after", before, after)
	}
}

func TestReadOnlyMapping(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-031e0000 r-xp 00000000 fe:00 9978242 /bin/skerry": true,
		"031e0000-06294000 r--p 02de0000 fe:00 9978242 /bin/skerry": true,
		"06294000-06396000 rw-p 05e94000 fe:00 9978242 /bin/skerry": false, // data: dropping it would lose what was written
		"00400000-031e0000 r-xp 00000000 fe:00 9978242 /lib/libc":   false,
		"00400000-031e0000 r-xp 00000000 00:00 0":                   false,
		"x-y r-xp 00000000 fe:00 9978242 /bin/skerry":               false,
	} {
		if _, _, ok := readOnlyMapping(line, "/bin/skerry"); ok != want {
			t.Errorf("%s: %v", line, ok)
		}
	}
	if start, size, _ := readOnlyMapping("00400000-00401000 r-xp 00000000 fe:00 9978242 /bin/skerry",
		"/bin/skerry"); start != 0x400000 ||
		size != 0x1000 {
		t.Errorf("%x %x", start, size)
	}
	if _, _, ok := readOnlyMapping(
		"00400000-00401000 r-xp 00000000 fe:00 9978242 /opt/my apps/skerry (deleted)", "/opt/my apps/skerry (deleted)"); !ok {
		t.Error("a binary that was replaced is not found")
	}
}
