package admin

import (
	"strings"
	"testing"
)

func TestPodDir(t *testing.T) {
	if d, err := podDir("pod/db-0:/data"); err != nil || d != (PodDir{"db-0", "/data"}) {
		t.Errorf("%v, %v", d, err)
	}
	for _, text := range []string{"", "db-0", "db-0:", ":/data", "db-0:data"} {
		if _, err := podDir(text); err == nil || !strings.Contains(err.Error(), "POD:DIR") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
