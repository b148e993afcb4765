package uplink

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

func TestCannotJoin(t *testing.T) {
	var out bytes.Buffer
	u := &uplink{Config: Config{Log: slog.New(slog.NewTextHandler(&out, nil)),
		Parents: []string{"https://nosuch.invalid"}},
		parents: make([]parent, 1)}
	nosuch := &net.DNSError{Name: "nosuch.invalid", IsNotFound: true}
	u.cannotJoin(nosuch, 10*time.Second)
	if want := "cannot join: nosuch.invalid does not resolve; retrying in 10 s"; !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %s", &out, want)
	}
	said := out.Len()
	if u.cannotJoin(nosuch, 20*time.Second); out.Len() != said {
		t.Errorf("the same reason is said again: %s", out.String()[said:])
	}
	u.cannotJoin(errors.New("not from the network"), time.Millisecond)
	if want := "cannot join: not from the network; retrying in 1 s"; !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %s", &out, want)
	}
}
