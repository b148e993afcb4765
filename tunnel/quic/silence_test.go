package quic

import (
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

func TestSilence(t *testing.T) {
	const looks = 100 // of a second
	never := func(int) bool { return false }
	at := func(when ...int) func(int) bool {
		return func(i int) bool {
			for _, w := range when {
				if i == w {
					return true
				}
			}
			return false
		}
	}
	always := func(int) bool { return true }
	dies := int(tunnel.Idle / time.Second)
	for name, c := range map[string]struct {
		comes, goes, beside func(int) bool
		dead                int // the look that finds it dead, 0 is none
	}{
		"nothing comes":                              {never, never, never, dies},
		"it is heard by QUIC":                        {at(50), never, never, 0},
		"it was heard by QUIC":                       {at(10), never, never, 10 + dies},
		"it is heard beside QUIC":                    {never, never, at(50), 0},
		"what goes out is answered":                  {at(22, 50), at(20, 21, 49, 60), at(80), 0},
		"an acknowledgement needs no answer":         {at(10), at(10), always, 0},
		"nor does one that goes later":               {at(10), at(11), always, 0},
		"what goes out is not answered":              {never, at(20), always, 20 + dies},
		"nor is what goes out again and again":       {at(10), at(11, 12, 14, 18, 26), always, 12 + dies},
		"nothing goes or comes, but beside QUIC":     {never, never, always, 0},
		"what was not answered is, when QUIC asks":   {at(80), at(12, 13, 79), always, 0},
		"all comes by QUIC, and more goes than that": {always, always, never, 0},
	} {
		var s silence
		var stats quicgo.ConnectionStats
		began, found := time.Now(), 0
		for i := range looks {
			now := began.Add(time.Duration(i) * time.Second)
			if c.comes(i) {
				stats.PacketsReceived++
			}
			if c.goes(i) {
				stats.PacketsSent++
			}
			if c.beside(i) {
				s.heard = now
			}
			if s.check(now, stats) {
				found = i
				break
			}
		}
		if found != c.dead {
			t.Errorf("%s: dead at look %d, want %d", name, found, c.dead)
		}
	}
}
