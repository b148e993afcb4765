package uplink

import (
	"fmt"
	"testing"
	"time"
)

func TestComplaints(t *testing.T) {
	var c complaints
	now := time.Now()
	text, ok := c.allow(fmt.Errorf("write udp [::]:42553->10.0.0.1:7443: network is unreachable"), now)
	if !ok || text != "write udp 10.0.0.1:7443: network is unreachable" {
		t.Errorf("%q %v", text, ok)
	}
	if _, ok := c.allow(fmt.Errorf("write udp [::]:38927->10.0.0.1:7443: network is unreachable"),
		now.Add(time.Minute)); ok {
		t.Error("the same reason from another port was logged again")
	}
	if _, ok := c.allow(fmt.Errorf("timeout"), now); !ok {
		t.Error("another reason was not logged")
	}
	if _, ok := c.allow(fmt.Errorf("write udp [::]:1->10.0.0.1:7443: network is unreachable"),
		now.Add(complaintEvery)); !ok {
		t.Error("what is still so after an hour was not logged again")
	}
	logged := 0
	for i := range 10 * maxComplaints {
		if _, ok := c.allow(fmt.Errorf("reason %d", i), now.Add(complaintEvery)); ok {
			logged++
		}
	}
	if logged >= maxComplaints || len(c) > maxComplaints {
		t.Errorf("%d of many reasons were logged, %d are remembered", logged, len(c))
	}
}
