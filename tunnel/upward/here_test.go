package upward

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
)

func TestASiteHearsWhatAnswersThere(t *testing.T) {
	all := []Here{{"shop", "store", "web", "u-1"}, {"desk", "store", "web", "u-2"}}
	h := http.Header{}
	if LeadHere(h, nil); len(h) > 0 || ReadHere(h) != nil {
		t.Errorf("nothing is %v", h)
	}
	if LeadHere(h, all); !reflect.DeepEqual(ReadHere(h), all) {
		t.Errorf("read %v of %v", ReadHere(h), h)
	}
	var many []Here
	for i := range 2 * mostHere {
		many = append(many, Here{"shop", "store", fmt.Sprint("web-", i), "u"})
	}
	if LeadHere(h, many); len(ReadHere(h)) != mostHere {
		t.Errorf("read %d", len(ReadHere(h)))
	}
	for text, want := range map[string]int{"a/b/c": 0, "a/b/c/d/e": 0, "A/b/c/d": 0, "a/b/c/": 0, "a/../c/d": 0, "a/b/c/d,x": 1} {
		h.Set(headerHere, text)
		if got := ReadHere(h); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
