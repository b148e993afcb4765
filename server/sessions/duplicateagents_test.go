package sessions

import (
	"fmt"
	"net"
	"testing"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// farConn is a connection as far as a message needs one.
type farConn struct{ tunnel.Conn }

func (farConn) RemoteAddr() net.Addr { return at(1) }

// A device and its copy hold one identity: one session at a time, and the admin is told. Restarts
// of one agent are nothing to tell.
func TestClonedDevice(t *testing.T) {
	c := newCenter(t)
	c.open()
	s := c.joined("paris")
	as := func(instance string) *link {
		l := c.connect(s, func(cfg *tunnel.ChildConfig) { cfg.Hello.Instance = instance })
		got(t, l.welcome, "a welcome")
		return l
	}
	unique := func(want string) func() bool {
		return func() bool { return says(c.api.status(t, "paris"), v1alpha1.ConditionUnique, want) }
	}
	for i := range 6 {
		as(fmt.Sprint("run ", i))
	}
	within(t, "a session", func() bool { return says(c.api.status(t, "paris"), v1alpha1.ConditionConnected, "True") })
	if unique("False")() {
		t.Error("an agent that is restarted is taken for two")
	}
	device, copied := as("device"), as("copy")
	got(t, device.ended, "the end of the device's session")
	device = as("device")
	got(t, copied.ended, "the end of the copy's session")
	within(t, "word of the copy", unique("False/TwoAgents"))
	select {
	case err := <-device.ended:
		t.Errorf("the newest session ended with %v", err)
	default:
	}
}

// Word of a copy stays for a while after it was there the last time, and then is taken back.
func TestWordOfACopyEnds(t *testing.T) {
	now := time.Now()
	s := &session{}
	old := &session{
		hello:           tunnel.Hello{Instance: "b"},
		duplicateAgents: duplicateAgents{ousted: []string{"a"}},
		conn:            farConn{},
	}
	s.hello.Instance, s.conn = "a", farConn{}
	if !s.replaces(old, now) {
		t.Fatal("a and b take turns unseen")
	}
	var st v1alpha1.SyncTarget
	duplicateCondition(&st, &session{conn: farConn{}}, now)
	if len(st.Status.Conditions) != 0 {
		t.Errorf("what never was is mentioned: %v", st.Status.Conditions)
	}
	for after, want := range map[time.Duration]string{time.Minute: "False", rivalTime: "True"} {
		duplicateCondition(&st, s, now)
		duplicateCondition(&st, s, now.Add(after))
		if !says(st.Status, v1alpha1.ConditionUnique, want) {
			t.Errorf("after %s: %v", after, st.Status.Conditions)
		}
	}
	next := &session{hello: tunnel.Hello{Instance: "c"}}
	if next.replaces(s, now) || len(next.ousted) > maxOusted {
		t.Errorf("c comes for the first time and takes turns: %v", next.ousted)
	}
}
