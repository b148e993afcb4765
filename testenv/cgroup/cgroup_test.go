package cgroup

import "testing"

func TestParse(t *testing.T) {
	const hybrid = `25 20 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset
27 25 0:24 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
28 25 0:25 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
29 20 0:23 / /somewhere/else rw,relatime - cgroup cgroup rw,cpuset
`
	const unified = "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	for _, test := range []struct {
		name, mountinfo string
		all, used       []string
	}{
		{"hybrid", hybrid, []string{"cpuset", "cpu,cpuacct", "unified"}, []string{"cpuset", "cpu,cpuacct"}},
		{"unified", unified, []string{""}, []string{""}},
	} {
		all, err := parse([]byte(test.mountinfo))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, test.name+": all", all, test.all)
		compare(t, test.name+": in use", inUse(all), test.used)
	}
}

func compare(t *testing.T, what string, got []hierarchy, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %+v, want %q", what, got, want)
	}
	for i, h := range got {
		dir := "/sys/fs/cgroup"
		if want[i] != "" {
			dir += "/" + want[i]
		}
		if h.dir != dir {
			t.Errorf("%s: got %s, want %s", what, h.dir, dir)
		}
	}
}
