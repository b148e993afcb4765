package exchange

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// reads counts how much is asked for at a time.
type reads struct {
	io.Reader
	most int
}

func (r *reads) Read(p []byte) (int, error) {
	r.most = max(r.most, len(p))
	return r.Reader.Read(p)
}

// What carries little holds little, and what carries much is copied in large pieces. Both arrive whole.
func TestPour(t *testing.T) {
	for size, most := range map[int]int{0: little, 100: little, little: 4 * little, 1 << 20: chunk} {
		text := bytes.Repeat([]byte("x"), size)
		from, to := &reads{Reader: bytes.NewReader(text)}, &bytes.Buffer{}
		if err := pour(to, from); err != nil || !bytes.Equal(to.Bytes(), text) || from.most != most {
			t.Errorf("%d of %d bytes, at most %d at a time, want %d: %v", to.Len(), size, from.most, most, err)
		}
	}
	lost, refused := errors.New("lost"), errors.New("refused")
	if err := pour(io.Discard, iotest.ErrReader(lost)); !errors.Is(err, lost) {
		t.Errorf("cannot be read: %v", err)
	}
	full, w := io.Pipe()
	full.CloseWithError(refused)
	if err := pour(w, bytes.NewReader([]byte("x"))); !errors.Is(err, refused) {
		t.Errorf("cannot be written: %v", err)
	}
	var to bytes.Buffer
	if err := pour(&to, iotest.DataErrReader(bytes.NewReader([]byte("end")))); err != nil || to.String() != "end" {
		t.Errorf("what comes with the end: %q, %v", to.String(), err)
	}
}
