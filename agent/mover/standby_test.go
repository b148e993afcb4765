package mover

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var errKilled = errors.New("killed")

// into makes a round into a standby, which die ends.
func (p *pair) into(of Standby, die func() error, wrap func(io.ReadWriteCloser) io.ReadWriteCloser) (Report, error) {
	source, err := os.OpenRoot(p.from)
	must(p.t, err)
	defer source.Close()
	// Each round is another process.
	report, err, far := p.between(NewSender(source), false, wrap, func(rw io.ReadWriteCloser) error {
		_, err := receive(p.t.Context(), volume{p.copied, die}, rw, of, "")
		return err
	})
	return report, errors.Join(err, far)
}

// held is what a standby holds, without what is of the standby alone.
func held(t testing.TB, dir string) []string {
	return slices.DeleteFunc(listing(t, dir), func(line string) bool { return strings.HasPrefix(line, standbyDir) })
}

// after ends what writes after so many writes.
func after(n int) (die func() error, writes *int) {
	writes = new(int)
	return func() error {
		if *writes++; *writes > n {
			return errKilled
		}
		return nil
	}, writes
}

func at(n int) time.Time { return time.Unix(int64(1_700_000_000+n), 0).UTC() }

// TestStandbyHoldsAWholeRound changes a tree at random and kills the receiver at each of its writes, and then who
// settles the standby at one of his. After each the standby is the last round, or the new one; never anything else.
func TestStandbyHoldsAWholeRound(t *testing.T) {
	kills, seeds := 0, uint64(5)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		p := newPair(t)
		w := newWorld(t, p.from, seed)
		for range 20 {
			w.change()
		}
		_, err := p.into(Standby{At: at(0)}, nil, whole)
		must(t, err)
		was := held(t, p.to)
		if is := held(t, p.from); !slices.Equal(is, was) {
			t.Fatalf("the first round: %s, not %s", was, is)
		}
		for round := 1; round < 5; round++ {
			for range 1 + w.r.IntN(15) {
				w.change()
			}
			next := held(t, p.from)
			for n := 0; ; n++ {
				kills++
				die, writes := after(n)
				_, err := p.into(Standby{At: at(round)}, die, whole)
				if err == nil && *writes <= n {
					break
				}
				again, _ := after(w.r.IntN(40)) // the next is killed, too
				_, _ = settle(t.Context(), volume{p.copied, again}, false)
				is, err := settle(t.Context(), volume{p.copied, nil}, false)
				must(t, err)
				want := was
				if is.At.Equal(at(round)) {
					want = next
				} else if !is.At.Equal(at(round - 1)) {
					t.Fatalf("seed %d, round %d, killed at %d: it is the round of %s", seed, round, n, is.At)
				}
				if got := held(t, p.to); !slices.Equal(got, want) {
					t.Fatalf("seed %d, round %d, killed at %d: round %s is\n%s\nnot\n%s", seed, round, n, is.At,
						strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if is.At.Equal(at(round)) { // back, so that the later writes are those of the same round
					break
				}
			}
			_, err := p.into(Standby{At: at(round)}, nil, whole)
			must(t, err)
			if got := held(t, p.to); !slices.Equal(got, next) {
				t.Fatalf("seed %d, round %d:\n%s\nnot\n%s", seed, round, strings.Join(got, "\n"), strings.Join(next, "\n"))
			}
			was = next
		}
	}
	t.Logf("%d kills", kills)
}

// TestNothingOfAStandbyIsLeft: wherever a round was killed, who begins on the volume finds nothing of the standby.
func TestNothingOfAStandbyIsLeft(t *testing.T) {
	p := newPair(t)
	w := newWorld(t, p.from, 200)
	for n := 0; ; n++ {
		_, err := p.into(Standby{At: at(0)}, nil, whole)
		must(t, err)
		for range 3 {
			w.change()
		}
		die, _ := after(n)
		_, killed := p.into(Standby{At: at(1)}, die, whole)
		if _, err := settle(t.Context(), volume{p.copied, nil}, true); err != nil {
			t.Fatalf("killed at %d: %v", n, err)
		}
		if _, err := os.Lstat(filepath.Join(p.to, standbyDir)); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("killed at %d: the directory is there: %v", n, err)
		}
		if killed == nil && n > 30 {
			return
		}
	}
}

// TestRedoIsRepeatable kills who applies a round at each write, again and again from where the last one came.
func TestRedoIsRepeatable(t *testing.T) {
	for seed := range uint64(6) {
		p := newPair(t)
		w := newWorld(t, p.from, seed+100)
		for range 25 {
			w.change()
		}
		_, err := p.into(Standby{At: at(0)}, nil, whole)
		must(t, err)
		for range 20 {
			w.change()
		}
		next := held(t, p.from)
		// All comes, and is killed when it begins to count.
		for n := 0; ; n++ {
			die, _ := after(n)
			if _, err := p.into(Standby{At: at(1)}, die, whole); err == nil {
				break
			}
			if _, err := os.Lstat(filepath.Join(p.to, redoFile)); err == nil {
				break
			}
		}
		for n := 0; ; n++ {
			die, _ := after(n)
			if _, err := settle(t.Context(), volume{p.copied, die}, false); err == nil {
				break
			}
		}
		if got := held(t, p.to); !slices.Equal(got, next) {
			t.Fatalf("seed %d:\n%s\nnot\n%s", seed, strings.Join(got, "\n"), strings.Join(next, "\n"))
		}
	}
}

// TestStandbyOfACutRound cuts the stream at random: the standby stays what it was.
func TestStandbyOfACutRound(t *testing.T) {
	p := newPair(t)
	w := newWorld(t, p.from, 7)
	for range 30 {
		w.change()
	}
	must(t, os.WriteFile(filepath.Join(p.from, "big"), w.bytes(5<<20), 0o600))
	_, err := p.into(Standby{At: at(0)}, nil, whole)
	must(t, err)
	was := held(t, p.to)
	for range 10 {
		w.change()
	}
	big := make([]byte, 5<<20)
	for i := range big {
		big[i] = byte(w.r.Uint32())
	}
	must(t, os.WriteFile(filepath.Join(p.from, "big"), big, 0o600))
	for range 30 {
		left := rand.IntN(4 << 20)
		_, err := p.into(Standby{At: at(1)}, nil, func(rw io.ReadWriteCloser) io.ReadWriteCloser {
			return &severed{ReadWriteCloser: rw, left: left}
		})
		if err == nil {
			t.Fatal("the round went through")
		}
		if got := held(t, p.to); !slices.Equal(got, was) {
			t.Fatalf("after %d bytes:\n%s\nnot\n%s", left, strings.Join(got, "\n"), strings.Join(was, "\n"))
		}
	}
}

// severed ends after some bytes that the sender writes.
type severed struct {
	io.ReadWriteCloser
	left int
}

func (s *severed) Write(b []byte) (int, error) {
	if s.left -= len(b); s.left < 0 {
		s.Close()
		return 0, io.ErrClosedPipe
	}
	return s.ReadWriteCloser.Write(b)
}

// TestStandbyIsSentWhatDiffers counts the bytes of a round: also of a file with two names, which is made anew.
func TestStandbyIsSentWhatDiffers(t *testing.T) {
	p := newPair(t)
	big := make([]byte, 40<<20)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range big {
		big[i] = byte(r.Uint32())
	}
	must(t, os.WriteFile(filepath.Join(p.from, "big"), big, 0o600))
	must(t, os.Link(filepath.Join(p.from, "big"), filepath.Join(p.from, "other")))
	_, err := p.into(Standby{At: at(0)}, nil, whole)
	must(t, err)
	copy(big[33<<20:], "changed")
	must(t, os.WriteFile(filepath.Join(p.from, "big"), big, 0o600))
	report, err := p.into(Standby{At: at(1)}, nil, whole)
	must(t, err)
	if report.Sent != blockSize {
		t.Errorf("one block has changed: %+v", report)
	}
	if a, b := held(t, p.from), held(t, p.to); !slices.Equal(a, b) {
		t.Errorf("%s, not %s", b, a)
	}
}

// TestAMoveToAStandby stages, too, and leaves nothing of the standby when the app is about to begin.
func TestAMoveToAStandby(t *testing.T) {
	p := newPair(t)
	w := newWorld(t, p.from, 3)
	for range 30 {
		w.change()
	}
	_, err := p.into(Standby{At: at(0)}, nil, whole)
	must(t, err)
	was := held(t, p.to)
	w.change()
	must(t, os.WriteFile(filepath.Join(p.from, "new"), []byte("new"), 0o600))
	die, _ := after(4)
	if _, err := p.into(Standby{}, die, whole); err == nil {
		t.Fatal("it was not killed")
	}
	if got := held(t, p.to); !slices.Equal(got, was) {
		t.Fatalf("a round of a move has changed the standby: %s, not %s", got, was)
	}
	p.same() // what is of the standby would be a difference
	// What was given up of a move is a standby again where whoever keeps count says so.
	if is, err := settle(t.Context(), volume{p.copied, nil}, false); err != nil || !is.At.IsZero() {
		t.Fatalf("it is the round of %v, %v", is, err)
	}
	was = held(t, p.to)
	must(t, os.WriteFile(filepath.Join(p.from, "new"), []byte("newer"), 0o600))
	die, _ = after(6)
	if _, err := p.into(Standby{At: at(2), Whole: at(0)}, die, whole); err == nil {
		t.Fatal("it was not killed")
	}
	if got := held(t, p.to); !slices.Equal(got, was) {
		t.Fatalf("%s, not %s", got, was)
	}
}

// TestSettleReleases leaves nothing but the files, with their times.
func TestSettleReleases(t *testing.T) {
	p := newPair(t)
	must(t, os.WriteFile(filepath.Join(p.from, "a"), []byte("a"), 0o600))
	_, err := p.into(Standby{At: at(5)}, nil, whole)
	must(t, err)
	is, err := settle(t.Context(), volume{p.copied, nil}, true)
	if err != nil || is != (Round{at(5), 1, 1}) {
		t.Fatalf("%+v, %v", is, err)
	}
	if a, b := listing(t, p.from), listing(t, p.to); !slices.Equal(a, b) {
		t.Errorf("%s, not %s", b, a)
	}
}

// TestABrokenLogIsNoRound: what the disk has not kept is not applied, and the standby holds no round then.
func TestABrokenLogIsNoRound(t *testing.T) {
	for _, broken := range []func(b []byte) []byte{
		func(b []byte) []byte { return b[:len(b)/2] },
		func(b []byte) []byte { b[len(b)/3] ^= 1; return b },
		func([]byte) []byte { return nil },
	} {
		p := newPair(t)
		must(t, os.WriteFile(filepath.Join(p.from, "a"), bytes.Repeat([]byte("a"), 1000), 0o600))
		_, err := p.into(Standby{At: at(0)}, nil, whole)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(p.from, "a"), bytes.Repeat([]byte("b"), 1000), 0o600))
		for n := 0; ; n++ {
			die, _ := after(n)
			_, err := p.into(Standby{At: at(1)}, die, whole)
			if _, missing := os.Lstat(filepath.Join(p.to, redoFile)); missing == nil {
				break
			} else if err == nil {
				t.Fatal("it was never seen")
			}
		}
		path := filepath.Join(p.to, redoFile)
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, broken(b), 0o600))
		if _, err := settle(t.Context(), volume{p.copied, nil}, false); !errors.Is(err, ErrLog) {
			t.Fatalf("it was taken: %v", err)
		}
		is, err := settle(t.Context(), volume{p.copied, nil}, false)
		if text, _ := json.Marshal(is); err != nil || !is.At.IsZero() {
			t.Fatalf("it holds %s, %v", text, err)
		}
		_, err = p.into(Standby{At: at(2)}, nil, whole)
		must(t, err)
		if a, b := held(t, p.from), held(t, p.to); !slices.Equal(a, b) {
			t.Errorf("%s, not %s", b, a)
		}
	}
}
