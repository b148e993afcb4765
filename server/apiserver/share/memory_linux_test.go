package share

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGroupLimit: the least limit counts, of the group itself and of those above it.
func TestGroupLimit(t *testing.T) {
	for _, tc := range []struct {
		name, self string
		limits     map[string]string
		want       int64
	}{
		{"none", "0::/system.slice/skerry-center.service\n", nil, unlimited},
		{"max", "0::/a\n", map[string]string{"a": "max\n"}, unlimited},
		{"its own", "0::/a/b\n", map[string]string{"a": "max\n", "a/b": "1073741824\n"}, 1 << 30},
		{"of a group above", "0::/a/b\n", map[string]string{"a": "1048576\n", "a/b": "1073741824\n"}, 1 << 20},
		{"a container's", "0::/\n", map[string]string{".": "2097152\n"}, 2 << 20},
		{"beside groups of version 1", "4:memory:/x\n0::/a\n", map[string]string{"a": "4096\n", "x": "1\n"}, 4096},
		{"a path that leads out", "0::/../../etc\n", map[string]string{".": "8192\n"}, 8192},
		{"garbage", "\n0:\n:::\n", map[string]string{".": "1\n"}, unlimited},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mount := t.TempDir()
			self := filepath.Join(mount, "self")
			write := func(name, text string) {
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(self, tc.self)
			for group, limit := range tc.limits {
				write(filepath.Join(mount, group, "memory.max"), limit)
			}
			if got := groupLimit(mount, self); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
	if got := groupLimit(t.TempDir(), "/none"); got != unlimited {
		t.Errorf("without a file: %d", got)
	}
	if got := usableMemory(); got < 64<<20 || got == unlimited {
		t.Errorf("this process may use %d bytes", got)
	}
}

// TestListsFitTheMemory: in the worst case lists take half of it, and those of a space half of that.
func TestListsFitTheMemory(t *testing.T) {
	for memory, want := range map[int64][2]int64{
		3 << 30:   {16 << 20, 8 << 20},
		12 << 30:  {64 << 20, 16 << 20},
		24 << 30:  {128 << 20, 16 << 20},
		unlimited: {128 << 20, 16 << 20},
	} {
		if l := newLists(memory); [2]int64{l.ofAll, l.ofSpace} != want {
			t.Errorf("of %d bytes lists take %d, and those of a space %d", memory, l.ofAll, l.ofSpace)
		}
	}
}
