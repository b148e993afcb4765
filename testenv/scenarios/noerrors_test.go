package scenarios

import "testing"

func TestOwnErrors(t *testing.T) {
	const own = "time=1 level=ERROR msg=\"the store is broken\"\n"
	log := "time=1 level=INFO msg=a\n" + own + "time=1 level=ERROR msg=\"a watch ended\" part=kubernetes\n"
	if got := ownErrors(log); got != own {
		t.Errorf("got %q", got)
	}
}
