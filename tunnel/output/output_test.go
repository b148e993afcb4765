package output

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestPrint(t *testing.T) {
	data := struct {
		Name string `json:"name"`
	}{"a"}
	for format, want := range map[string]string{"json": "{\n    \"name\": \"a\"\n}\n", "yaml": "name: a\n", "": "", "wide": ""} {
		var out strings.Builder
		printed, err := Print(&out, format, data)
		if err != nil || printed != (want != "") || out.String() != want {
			t.Errorf("%q: %t %q %v", format, printed, out.String(), err)
		}
	}
}

func TestFull(t *testing.T) {
	full := fmt.Errorf("write x: %w", syscall.ENOSPC)
	if err := Full(full, "-f"); !errors.Is(err, syscall.ENOSPC) || !strings.HasSuffix(err.Error(), "another disk with -f") {
		t.Error(err)
	}
	if other := errors.New("other"); Full(other, "-f") != other || Full(nil, "-f") != nil {
		t.Error("another error is changed")
	}
}
