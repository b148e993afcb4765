package quic

import (
	"bytes"
	"net"
	"testing"
)

var itself = secret{session: sessionID{1, 2, 3, 4, 5, 6, 7, 8}, key: [32]byte{9}}

func TestSigns(t *testing.T) {
	question := itself.question(7)
	session, counter, ok := readQuestion(question)
	if !ok || session != itself.session || counter != 7 || !itself.sealed(question) || len(question) != questionBytes ||
		isQUIC(question) {
		t.Errorf("a question is read as %x, %d, %t", session, counter, ok)
	}
	for _, want := range []bool{false, true} {
		answer := itself.answer(7, want)
		counter, within, ok := readAnswer(answer)
		if !ok || counter != 7 || within != want || !itself.sealed(answer) || len(answer) != answerBytes ||
			isQUIC(answer) {
			t.Errorf("an answer is read as %d, %t, %t", counter, within, ok)
		}
	}
	other := secret{session: itself.session, key: [32]byte{10}}
	if other.sealed(question) || bytes.Equal(other.question(7), question) {
		t.Error("another key seals the same")
	}
}

// Whatever comes is taken apart, and what is not sealed is neither answered nor believed.
func FuzzSign(f *testing.F) {
	for _, s := range [][]byte{itself.question(1), itself.answer(1, true), itself.answer(2, false),
		{questionByte}, {answerByte}, {wakeByte, 1}, nil} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if session, counter, ok := readQuestion(b); ok {
			own := itself
			own.session = session
			if again := own.question(counter); own.sealed(b) != bytes.Equal(again, b) {
				t.Errorf("%x is another question than %x", b, again)
			}
		}
		if counter, within, ok := readAnswer(b); ok && b[5] <= withinFlag {
			if again := itself.answer(counter, within); itself.sealed(b) != bytes.Equal(again, b) {
				t.Errorf("%x is another answer than %x", b, again)
			}
		}
		if answer := newHeartbeatServer().answer(b, &net.UDPAddr{}); answer != nil {
			t.Errorf("a stranger is answered: %x", answer)
		}
		child, woken := newHeartbeat(DialConfig{}, nil), false
		child.wake = func([]byte) { woken = true }
		if child.receive(b, nil); len(child.answers) != 0 || woken && b[0] != wakeByte {
			t.Errorf("a stranger is believed: %x", b)
		}
	})
}

// What strangers send costs a look at it.
func TestStrangeSignsTakeNoMemory(t *testing.T) {
	h, from := newHeartbeatServer(), &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
	signs := [][]byte{itself.question(1), itself.answer(1, false), bytes.Repeat([]byte{questionByte}, 1200), {0}}
	const runs = 100
	if n := testing.AllocsPerRun(runs, func() {
		for _, s := range signs {
			if h.answer(s, from) != nil {
				t.Error("a stranger is answered")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for %d signs of strangers", n, len(signs))
	}
	if want := uint64((runs + 1) * len(signs)); h.strange != want || len(h.heard) != 0 {
		t.Errorf("%d were counted, want %d; %d are kept", h.strange, want, len(h.heard))
	}
}

// A child believes the answer to its last question, once, and no other.
func TestAnswersAreBelievedOnce(t *testing.T) {
	other := secret{session: itself.session, key: [32]byte{10}}
	b := newHeartbeat(DialConfig{}, nil)
	b.conn, b.counter = &conn{secret: itself}, 5
	for _, c := range []struct {
		what   string
		answer []byte
		want   int
	}{
		{"another's", other.answer(5, true), 0},
		{"the one before", itself.answer(4, true), 0},
		{"the next", itself.answer(6, true), 0},
		{"a question", itself.question(5), 0},
		{"the answer", itself.answer(5, false), 1},
		{"the answer again", itself.answer(5, false), 0},
	} {
		b.receive(c.answer, nil)
		if n := len(b.answers); n != c.want {
			t.Errorf("%s: %d answers are believed, want %d", c.what, n, c.want)
		}
		select {
		case <-b.answers:
		default:
		}
	}
}
