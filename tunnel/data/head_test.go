package data

import (
	"bytes"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// What is read is what was said, and nothing else is a head.
func FuzzHead(f *testing.F) {
	var b bytes.Buffer
	if err := writeHead(&b, tunnel.NewNumber()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{1, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := readHead(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeHead(&again, n); err != nil || !bytes.Equal(again.Bytes(), data[:headBytes]) {
			t.Errorf("%x came back as %x, %v", data, again.Bytes(), err)
		}
	})
}

func TestTaken(t *testing.T) {
	for said, taken := range map[string]bool{"\x01": true, "\x01more": true, "\x00": false, "": false, "\x02": false} {
		if err := readTaken(bytes.NewReader([]byte(said))); (err == nil) != taken {
			t.Errorf("%q: %v", said, err)
		}
	}
}
