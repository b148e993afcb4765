package quic_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"

	"skerry.dev/skerry/tunnel/quic"
)

// tap keeps the last question and the last answer that cross, and lets pass what a test says.
type tap struct {
	mu               sync.Mutex
	question, answer []byte
	pass             func(question bool) bool
}

func (t *tap) drop(p simnet.Packet) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	question := len(p.Data) == int(quic.QuestionBytes)
	if !isSign(p) || !question && len(p.Data) != int(quic.AnswerBytes) {
		return false
	}
	if question {
		t.question = bytes.Clone(p.Data)
	} else {
		t.answer = bytes.Clone(p.Data)
	}
	return t.pass != nil && !t.pass(question)
}

func (t *tap) last() (question, answer []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.question, t.answer
}

// with returns a heartbeat with a byte changed.
func with(sign []byte, at int) []byte {
	b := bytes.Clone(sign)
	b[at] ^= 1
	return b
}

// Who sees heartbeats and sends them again, changed or from elsewhere, gets no answer, moves
// nobody, and keeps no session alive.
func TestForgedSignsOfLife(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		taps := &tap{}
		w.loses(taps.drop)
		l := w.connect(0)
		w.lasts(l, calm)
		question, answer := taps.last()
		if question == nil || answer == nil {
			t.Fatal("no signs of life cross")
		}
		attacker, home := w.sockets[1], l.parent.RemoteAddr().String()
		send := func(to net.Addr, datagram []byte) {
			t.Helper()
			if _, err := attacker.WriteTo(datagram, to); err != nil {
				t.Fatal(err)
			}
		}
		later := bytes.Clone(question)
		binary.BigEndian.PutUint32(later[9:], 1<<31)
		forged := [][]byte{
			question,
			later,
			with(later, 1),
			question[:20],
			append(bytes.Clone(question), 0),
			answer,
			{0x22},
			{0x23},
			{0},
			bytes.Repeat([]byte{0x22}, int(quic.QuestionBytes)),
		}
		for i := range question {
			forged = append(forged, with(question, i))
		}
		known, _ := w.listener.Strange()
		for _, f := range forged {
			send(w.at, f)
		}
		w.lasts(l, time.Second)
		if n := attacker.Stats().PacketsRcvd; n != 0 {
			t.Errorf("the attacker got %d answers", n)
		}
		if strange, _ := w.listener.Strange(); strange-known < uint64(len(forged)-2) { // two of them look like QUIC
			t.Errorf("of %d forged signs %d were counted", len(forged), strange-known)
		}
		if at := l.parent.RemoteAddr().String(); at != home {
			t.Errorf("the parent sends to %s now", at)
		}
		// A child that is told lies asks no more than it would, and does not believe that its
		// parent is there.
		child := w.sockets[0].LocalAddr()
		_, before := quic.Packets(l.parent)
		for _, f := range [][]byte{answer, with(answer, 0), with(answer, 4), with(answer, 5),
			with(answer, 21), answer[:10], {0x23}} {
			send(child, f)
		}
		w.lasts(l, time.Second)
		if _, after := quic.Packets(l.parent); after != before {
			t.Error("a forged answer makes the child speak")
		}
		w.lasts(l, 2*heartbeat) // the true ones still count
		taps.pass = func(bool) bool { return false }
		w.loses(func(p simnet.Packet) bool { return taps.drop(p) || p.From.String() != attacker.LocalAddr().String() })
		began := time.Now()
		for done := false; !done; {
			question, answer := taps.last()
			for _, f := range [][]byte{question, answer, with(question, 12), with(answer, 4)} {
				send(w.at, f)
				send(child, f)
			}
			select {
			case <-l.left:
				done = true
			case <-time.After(time.Second):
			}
			if time.Since(began) > 2*time.Minute {
				t.Fatal("replayed signs keep a dead session alive")
			}
		}
	})
}

// Who holds a child's question back and sends it from elsewhere learns no more than that an answer
// came; the child speaks by QUIC, and the parent goes on to send to where that comes from.
func TestMovedSignsOfLife(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		taps := &tap{}
		l := w.connect(0)
		w.lasts(l, calm)
		taps.pass = func(question bool) bool { return !question }
		home, attacker := l.parent.RemoteAddr().String(), w.sockets[1]
		w.loses(func(p simnet.Packet) bool { return p.From.String() == home && taps.drop(p) })
		_, before := quic.Packets(l.parent)
		for i := range 2 {
			question, _ := taps.last()
			for now := question; bytes.Equal(now, question); now, _ = taps.last() {
				w.lasts(l, 10*time.Millisecond)
			}
			question, _ = taps.last()
			if _, err := attacker.WriteTo(question, w.at); err != nil {
				t.Fatal(err)
			}
			w.lasts(l, 2*time.Second)
			got := attacker.Stats()
			if got.PacketsRcvd != i+1 || got.BytesRcvd > (i+1)*len(question) {
				t.Errorf(
					"the attacker got %d datagrams, %d bytes for %d questions",
					got.PacketsRcvd,
					got.BytesRcvd,
					i+1,
				)
			}
		}
		if _, after := quic.Packets(l.parent); after == before {
			t.Error("the child does not speak by QUIC")
		}
		if at := l.parent.RemoteAddr().String(); at != home {
			t.Errorf("the parent sends to %s, the child is at %s", at, home)
		}
	})
}
