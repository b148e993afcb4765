package mover

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script is what one side says, whatever the other does.
type script struct{ bytes.Buffer }

func (s *script) frame(kind byte, payload []byte) *script {
	s.Write(binary.AppendUvarint([]byte{kind}, uint64(len(payload))))
	s.Write(payload)
	return s
}

func (s *script) entry(kind byte, e entry) *script { return s.frame(kind, e.encode()) }

func begun() *script {
	s := &script{}
	return s.frame(frameHello, append(appendText(appendText(nil, version), ""), 0)).entry(frameDir, entry{name: "volume"})
}

// heard is a stream on which one side has said everything, and nobody listens.
type heard struct{ io.Reader }

func (heard) Write(b []byte) (int, error) { return len(b), nil }
func (heard) Close() error                { return nil }

func hashesOf(seq, index uint64, seg segment) []byte {
	b := append(binary.AppendUvarint(binary.AppendUvarint(nil, seq), index), seg.zero[:]...)
	for _, h := range seg.sums {
		b = append(b, h[:]...)
	}
	return b
}

// TestHostileSender: whatever a sender says, the receiver refuses it and writes nothing outside of its volume.
func TestHostileSender(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "theirs"), []byte("precious"), 0o600))
	file := func(name string, size int64) entry { return entry{name: name, size: size, meta: meta{mode: 0o600}} }
	oneBlock := segment{sums: []sum{{1}}}
	hashed := func() *script {
		return begun().entry(frameFile, file("a", 1)).frame(frameHashes, hashesOf(0, 0, oneBlock))
	}
	for what, s := range map[string]*script{
		"another protocol":   (&script{}).frame(frameHello, append(appendText(nil, "rsync"), 0)),
		"a name upwards":     begun().entry(frameFile, file("..", 0)),
		"a path":             begun().entry(frameFile, file("a/b", 0)),
		"no name":            begun().entry(frameDir, file("", 0)),
		"a NUL":              begun().entry(frameFile, file("a\x00", 0)),
		"disorder":           begun().entry(frameFile, file("b", 0)).entry(frameFile, file("a", 0)),
		"a name twice":       begun().entry(frameSymlink, entry{name: "a", target: outside}).entry(frameDir, file("a", 0)),
		"into a link":        begun().entry(frameSymlink, entry{name: "a", target: outside}).entry(frameFile, file("a", 0)),
		"a link to outside":  begun().entry(frameLink, entry{name: "a", target: "../" + filepath.Base(outside) + "/theirs"}),
		"a link to nothing":  begun().entry(frameLink, entry{name: "a", target: "b"}),
		"leaves too often":   begun().frame(frameLeave, nil).frame(frameLeave, nil),
		"ends too early":     begun().frame(frameEnd, nil),
		"after the end":      begun().frame(frameLeave, nil).entry(frameFile, file("a", 0)),
		"the volume twice":   begun().frame(frameLeave, nil).entry(frameDir, entry{name: "volume"}),
		"hashes of no file":  begun().frame(frameHashes, hashesOf(0, 0, oneBlock)),
		"hashes twice":       hashed().frame(frameHashes, hashesOf(0, 0, oneBlock)),
		"too few hashes":     begun().entry(frameFile, file("a", 3*blockSize)).frame(frameHashes, hashesOf(0, 0, oneBlock)),
		"a block of no file": begun().frame(frameBlock, []byte{0, 0}),
		"a block unasked":    begun().entry(frameFile, file("a", 1)).frame(frameBlock, []byte{0, 0}),
		"no zstd":            hashed().frame(frameBlock, []byte{0, 0, 1, 2}),
		"a huge file":        begun().entry(frameFile, file("a", 1<<62)),
		"an unknown frame":   begun().frame('?', nil),
		"a huge frame":       {*bytes.NewBuffer(binary.AppendUvarint([]byte{frameHello}, 1<<40))},
		"stops":              begun(),
		"a redo log":         begun().entry(frameDir, file(standbyDir, 0)),
		"no redo log":        begun().entry(frameSymlink, entry{name: standbyDir, target: outside}),
		"a link to a log":    begun().entry(frameLink, entry{name: "a", target: redoFile}),
		"a link to the dir":  begun().entry(frameLink, entry{name: "a", target: standbyDir}),
	} {
		refused(t, what, *s, outside, Standby{}, false)
		refused(t, what, *s, outside, Standby{At: at(1)}, true)
	}
	for what, s := range map[string]*script{
		"a link to nowhere": begun().entry(frameSymlink, entry{name: "a"}),
		"a link too long":   begun().entry(frameSymlink, entry{name: "a", target: strings.Repeat("a", maxPath)}),
	} {
		refused(t, what, *s.frame(frameLeave, nil).frame(frameEnd, nil), outside, Standby{At: at(1)}, true)
	}
}

// TestARoundThatCountsEnds: what a hostile sender says of a name cannot keep a standby from being settled.
func TestARoundThatCountsEnds(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	s := begun().entry(frameLink, entry{name: "a", target: "b"}).frame(frameLeave, nil).frame(frameEnd, nil)
	must(t, ReceiveStandby(t.Context(), root, heard{s}, Standby{At: at(1), Whole: at(0)}))
	if is, err := Settle(t.Context(), root, false); err != nil || !is.At.Equal(at(1)) {
		t.Errorf("%+v, %v", is, err)
	}
}

// refused makes sure that a script is, and that nothing comes of it outside the volume, nor in a standby that holds a
// round.
func refused(t *testing.T, what string, s script, outside string, of Standby, staged bool) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	must(t, err)
	if staged {
		must(t, os.WriteFile(filepath.Join(dir, "held"), []byte("x"), 0o600))
		of.Whole = at(0)
	}
	if err := ReceiveStandby(t.Context(), root, heard{&s}, of); err == nil {
		t.Errorf("%s: it was taken", what)
	} else if strings.Contains(err.Error(), "panic") {
		t.Errorf("%s: %v", what, err)
	}
	root.Close()
	if names := held(t, dir); staged && (len(names) != 2 || !strings.HasPrefix(names[1], "held ")) {
		t.Errorf("%s: the standby has %v", what, names)
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "theirs")); string(b) != "precious" {
		t.Fatalf("%s: the file outside holds %q", what, b)
	}
	if left, _ := os.ReadDir(outside); len(left) != 1 {
		t.Fatalf("%s: there are %d files outside", what, len(left))
	}
}

// TestDeepTree is refused at both sides.
func TestDeepTree(t *testing.T) {
	s := begun()
	for range maxDepth + 2 {
		s.entry(frameDir, entry{name: "d", meta: meta{mode: 0o700}})
	}
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer root.Close()
	if err := Receive(t.Context(), root, heard{s}); !errors.Is(err, ErrProtocol) {
		t.Errorf("the receiver: %v", err)
	}
}

// TestHostileReceiver: the sender ends with an error.
func TestHostileReceiver(t *testing.T) {
	need := func(seq, index uint64) []byte { return hashesOf(seq, index, segment{}) }
	for what, s := range map[string]*script{
		"unasked":          (&script{}).frame(frameNeed, need(0, 0)).frame(frameNeed, need(0, 0)),
		"another segment":  (&script{}).frame(frameNeed, need(0, 7)),
		"half an answer":   (&script{}).frame(frameNeed, []byte{0}),
		"an unknown frame": (&script{}).frame(frameHello, nil),
		"half a word":      (&script{}).frame(frameAck, []byte{1, 2}),
		"a refusal":        (&script{}).frame(frameError, encodeRefusal(errors.New("no room"))),
		"nothing":          {},
	} {
		p := newPair(t)
		must(t, os.WriteFile(filepath.Join(p.from, "a"), []byte("x"), 0o600))
		if _, err := p.sender.Round(t.Context(), heard{s}); err == nil {
			t.Errorf("%s: it was taken", what)
		}
	}
}

// FuzzReceive: no bytes make a receiver panic, hang, or leave its volume.
func FuzzReceive(f *testing.F) {
	f.Add(begun().entry(frameFile, entry{name: "a", size: 5}).Bytes())
	f.Add(begun().entry(frameSymlink, entry{name: "a", target: "/"}).frame(frameLeave, nil).frame(frameEnd, nil).Bytes())
	f.Add(begun().entry(frameDir, entry{name: "d", meta: meta{attrs: map[string]string{"user.a": "b"}}}).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "volume")
		must(t, os.Mkdir(dir, 0o700))
		root, err := os.OpenRoot(dir)
		must(t, err)
		defer root.Close()
		_ = Receive(t.Context(), root, heard{bytes.NewReader(b)}) // only that it returns
		if left, _ := os.ReadDir(parent); len(left) != 1 {
			t.Errorf("%d names beside the volume", len(left))
		}
	})
}

// FuzzAnswers: no bytes make a sender panic or hang.
func FuzzAnswers(f *testing.F) {
	lacks := hashesOf(0, 0, segment{zero: [32]byte{1}})
	f.Add((&script{}).frame(frameNeed, lacks).frame(frameAck, make([]byte, 34)).Bytes())
	f.Add((&script{}).frame(frameError, encodeRefusal(ErrStale)).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		p := newPair(t)
		must(t, os.WriteFile(filepath.Join(p.from, "a"), []byte("x"), 0o600))
		_, _ = p.sender.Round(t.Context(), heard{bytes.NewReader(b)}) // only that it returns
	})
}
