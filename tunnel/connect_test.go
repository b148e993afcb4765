package tunnel

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	n := NewNumber()
	text, err := json.Marshal(Connect{n})
	if err != nil {
		t.Fatal(err)
	}
	var back Connect
	if err := json.Unmarshal(text, &back); err != nil || back.Number != n || n == NewNumber() {
		t.Errorf("%s came back as %x, %v", text, back.Number, err)
	}
	for _, wrong := range []string{`{"number":""}`, `{"number":"00"}`, `{"number":"` +
		strings.Repeat("x", 32) + `"}`, `{"number":7}`} {
		if json.Unmarshal([]byte(wrong), &back) == nil {
			t.Errorf("%s is a number", wrong)
		}
	}
}

func TestNotConnectedIsBounded(t *testing.T) {
	long := NotConnected{Why: strings.Repeat("x", maxWhy-1) + "é" + "more"}.bounded()
	if len(long.Why) != maxWhy-1 {
		t.Errorf("%d bytes", len(long.Why))
	}
}
