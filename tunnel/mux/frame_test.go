package mux

import (
	"bufio"
	"bytes"
	"testing"
)

// What is read is what was written, and nothing breaks a limit, whatever comes.
func FuzzFrame(f *testing.F) {
	for _, x := range []frame{{frameData, 1, maxData}, {frameEnd, 3, 0}, {frameReset, 2, 0},
		{frameCredit, 0, 1 << 20}, {frameClose, 2, 9}, {kind: framePing}} {
		f.Add(x.append(nil))
	}
	f.Add([]byte{frameData, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readFrame(bufio.NewReaderSize(bytes.NewReader(data), 16))
		if err != nil {
			return
		}
		if got.stream > maxNumber || got.value < 0 || got.kind == frameData && got.value > maxData ||
			got.kind == frameClose && got.value > maxReason {
			t.Errorf("%x is %+v", data, got)
		}
		if head := len(got.append(nil)); got.size() < head || got.kind == frameData && got.size() != head+got.value {
			t.Errorf("%+v has a size of %d", got, got.size())
		}
		again, err := readFrame(bufio.NewReader(bytes.NewReader(got.append(nil))))
		if err != nil || again != got {
			t.Errorf("%+v came back as %+v, %v", got, again, err)
		}
	})
}
