package mover

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// later has both ends of a copy trust at once what has changed a moment ago.
func later(t *testing.T) {
	now = func() time.Time { return time.Now().Add(time.Hour) }
	t.Cleanup(func() { now = time.Now })
}

// remembering is a pair whose rounds are processes of their own, with a memory at each end.
type remembering struct {
	*pair
	sent, received string
	die            func() error // of the receiver
}

func newRemembering(t *testing.T) *remembering {
	later(t)
	dir := t.TempDir()
	return &remembering{newPair(t), filepath.Join(dir, "sent"), filepath.Join(dir, "received"), nil}
}

// again makes a round. It returns what the receiver has read back, too.
func (r *remembering) again(verify bool, wrap func(io.ReadWriteCloser) io.ReadWriteCloser) (Report, int64, error) {
	r.t.Helper()
	r.tick()
	source, err := os.OpenRoot(r.from)
	must(r.t, err)
	defer source.Close()
	s := NewSender(source)
	s.Remember(r.sent)
	reads := int64(0)
	report, err, far := r.between(s, verify, wrap, func(rw io.ReadWriteCloser) (err error) {
		reads, err = receive(r.t.Context(), volume{r.copied, r.die}, rw, Standby{}, r.received)
		return err
	})
	r.tick()
	return report, reads, errors.Join(err, far)
}

// tick waits until a write has another time than all before it.
func (r *remembering) tick() {
	probe := filepath.Join(filepath.Dir(r.sent), "probe")
	written := func() stamp {
		must(r.t, os.WriteFile(probe, nil, 0o600))
		info, err := os.Lstat(probe)
		must(r.t, err)
		return stampOf(info)
	}
	for first := written(); written().ctime == first.ctime; {
	}
}

func (r *remembering) must(verify bool) (Report, int64) {
	r.t.Helper()
	report, reads, err := r.again(verify, whole)
	must(r.t, err)
	return report, reads
}

func (r *remembering) write(path string, at int64, b []byte) {
	f, err := os.OpenFile(filepath.Join(r.from, path), os.O_WRONLY|os.O_CREATE, 0o600)
	must(r.t, err)
	_, err = f.WriteAt(b, at)
	must(r.t, errors.Join(err, f.Close()))
}

// fill fills a volume with a large file and some that nobody writes to. It returns how many bytes they have.
func (r *remembering) fill() int64 {
	w := newWorld(r.t, r.from, 5)
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(w.r.Uint32())
		}
		return b
	}
	r.write("database", 0, random(6<<20))
	for _, name := range []string{"a", "b"} {
		r.write(name, 0, random(1<<20))
	}
	return 8 << 20
}

// What the rounds beside the app have sent and read back, the one in the pause neither sends nor reads back.
func TestTheLastRoundReadsBackWhatItHasWritten(t *testing.T) {
	r := newRemembering(t)
	all := r.fill()
	if report, reads := r.must(false); report.Sent != all || reads != all {
		t.Errorf("the first round has sent %d bytes and read back %d of %d", report.Sent, reads, all)
	}
	r.write("database", 5<<20, []byte("changed"))
	must(t, os.Truncate(filepath.Join(r.from, "a"), 100))
	report, reads := r.must(true)
	if want := int64(blockSize); report.Sent != want || reads != want {
		t.Errorf("the last round has sent %d bytes and read back %d, not %d", report.Sent, reads, want)
	}
	r.write("database", 3*blockSize, make([]byte, 2*blockSize)) // becomes a hole
	if report, reads := r.must(true); report.Sent != 0 || reads != 2*blockSize {
		t.Errorf("two blocks of zeros: %d bytes were sent, %d read back", report.Sent, reads)
	}
	if report, reads := r.must(true); report.Sent != 0 || reads != 0 || report.Bytes != all-1<<20+100 {
		t.Errorf("nothing has changed: %+v, %d bytes were read back", report, reads)
	}
	r.same()
}

// A copy that is not as the rounds have left it is found out, and mended.
func TestADamagedCopyIsFoundOut(t *testing.T) {
	damage := func(r *remembering, path string) {
		f, err := os.OpenFile(filepath.Join(r.to, path), os.O_WRONLY, 0)
		must(r.t, err)
		_, err = f.WriteAt([]byte("damaged"), 700_000)
		must(r.t, errors.Join(err, f.Close()))
	}
	for what, c := range map[string]struct {
		damage func(r *remembering)
		is     error // nil where the round mends it
	}{
		"a file that is called unchanged": {func(r *remembering) { damage(r, "b") }, ErrDiffers},
		"one that is sent again":          {func(r *remembering) { damage(r, "database") }, nil},
		"one that is gone": {func(r *remembering) {
			must(r.t, os.Remove(filepath.Join(r.to, "b")))
		}, ErrStale},
		"a block behind the round's back": {func(r *remembering) { r.die = rots(r, "database") }, ErrDiffers},
		"a memory of another copy":        {func(r *remembering) { must(r.t, memory{"x", nil}.keep(r.received)) }, ErrStale},
		"no memory at the receiver":       {func(r *remembering) { must(r.t, os.Remove(r.received)) }, ErrStale},
		"no memory at the sender":         {func(r *remembering) { must(r.t, os.Remove(r.sent)) }, nil},
		"half a memory at the sender":     {func(r *remembering) { must(r.t, os.Truncate(r.sent, 100)) }, nil},
		"half a memory at the receiver":   {func(r *remembering) { must(r.t, os.Truncate(r.received, 100)) }, ErrStale},
		"nowhere to write what to remember": {func(r *remembering) {
			for _, path := range []string{r.sent, r.received} {
				must(r.t, os.Mkdir(path+".next", 0o700))
			}
		}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRemembering(t)
			r.fill()
			r.must(false)
			r.write("database", 5<<20, []byte("changed"))
			c.damage(r)
			if _, _, err := r.again(true, whole); !errors.Is(err, c.is) || err == nil != (c.is == nil) {
				t.Errorf("the check says %v, not %v", err, c.is)
			}
			r.die = nil
			r.must(true)
			r.same()
		})
	}
}

// rots damages a file of the copy after the block was written to it that has changed.
func rots(r *remembering, path string) func() error {
	return func() error {
		f, err := os.OpenFile(filepath.Join(r.to, path), os.O_RDWR, 0)
		must(r.t, err)
		b := make([]byte, len("changed"))
		if _, err = f.ReadAt(b, 5<<20); err == nil && string(b) == "changed" {
			_, err = f.WriteAt([]byte("Changed"), 5<<20)
		}
		must(r.t, errors.Join(err, f.Close()))
		return nil
	}
}

// Whatever is changed and wherever rounds are cut or killed, what is checked in the end is the same.
func TestRememberedRoundsOfRandomTrees(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := newRemembering(t)
		w := newWorld(t, r.from, seed+50)
		failed, stale := 0, 0
		for range 25 {
			for range 1 + w.r.IntN(12) {
				w.change()
			}
			wrap, verify := whole, w.r.IntN(2) == 0
			switch w.r.IntN(4) {
			case 0:
				r.die, _ = after(w.r.IntN(60))
			case 1:
				left := w.r.IntN(40_000)
				wrap = func(rw io.ReadWriteCloser) io.ReadWriteCloser { return &cutting{rw, left} }
			case 2:
				_ = os.Remove([]string{r.sent, r.received}[w.r.IntN(2)])
			}
			if _, _, err := r.again(verify, wrap); err != nil {
				failed++
			}
			r.die = nil
			if _, _, err := r.again(true, whole); errors.Is(err, ErrStale) {
				stale++
				r.must(true)
			} else {
				must(t, err)
			}
			if a, b := listing(t, r.from), listing(t, r.to); !slices.Equal(a, b) {
				t.Fatalf("seed %d: the source has\n%s\nthe copy\n%s", seed, strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
		}
		t.Logf("seed %d: %d rounds failed, %d had to compare everything", seed, failed, stale)
	}
}

// The file of a memory has a bound; what has no room in it is not remembered.
func TestMemoryIsBounded(t *testing.T) {
	m := newMemory()
	name := strings.Repeat("n", 4000)
	for i := range maxMemory/4000 + 1000 {
		m.files[name+string(rune('a'+i%26))+time.Duration(i).String()] = stamp{size: int64(i)}
	}
	path := filepath.Join(t.TempDir(), "memory")
	must(t, m.keep(path))
	if info, err := os.Stat(path); err != nil || info.Size() > maxMemory {
		t.Errorf("it has %d bytes: %v", info.Size(), err)
	}
	is := recall(path)
	if len(is.files) == 0 || len(is.files) >= len(m.files) {
		t.Errorf("%d of %d files are remembered", len(is.files), len(m.files))
	}
	if _, err := os.Lstat(path + ".next"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// FuzzMemory: no bytes make it panic, and what can be read is written as the same.
func FuzzMemory(f *testing.F) {
	info, err := os.Lstat(".")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(memory{"copy", map[string]stamp{"a": stampOf(info), "b/c": {size: 7, sum: sum{1}}}}.encode())
	f.Add(newMemory().encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMemory(b)
		if err != nil {
			return
		}
		again, err := decodeMemory(m.encode())
		if err != nil || again.copy != m.copy || !maps.Equal(again.files, m.files) {
			t.Errorf("%v: %v is %v", err, bytes.Clone(b), again)
		}
	})
}
