package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/wire"
)

func TestFrame(t *testing.T) {
	var b bytes.Buffer
	payloads := [][]byte{nil, []byte("x"), bytes.Repeat([]byte("abc"), 100_000)}
	for i, p := range payloads {
		if err := wire.WriteFrame(&b, wire.Type(i+1), p); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.Bytes()
	r := bufio.NewReader(bytes.NewReader(whole))
	for i, p := range payloads {
		kind, got, err := wire.ReadFrame(r, wire.MaxFrame)
		if err != nil || kind != wire.Type(i+1) || !bytes.Equal(got, p) {
			t.Errorf("frame %d: type %d, %d bytes, %v", i, kind, len(got), err)
		}
	}
	if _, _, err := wire.ReadFrame(r, wire.MaxFrame); err != io.EOF {
		t.Errorf("behind the last frame: %v", err)
	}
	r = bufio.NewReader(bytes.NewReader(whole[:len(whole)-1]))
	var err error
	for err == nil {
		_, _, err = wire.ReadFrame(r, wire.MaxFrame)
	}
	if err != io.ErrUnexpectedEOF {
		t.Errorf("a frame that is cut off: %v", err)
	}
}

// A length alone makes nobody take memory.
func TestLengthsAreCheckedFirst(t *testing.T) {
	tooLong := wire.AppendFrame(nil, wire.TypeBatch, make([]byte, 100))
	if _, _, err := wire.ReadFrame(bufio.NewReader(bytes.NewReader(tooLong)), 99); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a frame over the limit: %v", err)
	}
	claims := wire.AppendFrame(nil, wire.TypeBatch, make([]byte, wire.MaxFrame))[:10]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, _, err := wire.ReadFrame(bufio.NewReader(bytes.NewReader(claims)), wire.MaxFrame); err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 80<<10 {
		t.Errorf("%d bytes were taken for a frame that only claims to be long", each)
	}
}

func TestMessages(t *testing.T) {
	at := store.Position{Incarnation: store.NewIncarnation(), Revision: -1}
	resume := wire.Resume{Position: at, Root: store.Digest{Hi: 1, Lo: 2}, Bases: true}
	for range 2 {
		if got, err := wire.DecodeResume(resume.Encode()); err != nil || got != resume {
			t.Errorf("%+v, %v", got, err)
		}
		resume.Bases, resume.Short = false, true
	}
	start := wire.Start{Head: at, Root: store.Digest{Hi: 3}, Compare: true}
	if got, err := wire.DecodeStart(start.Encode()); err != nil || got != start {
		t.Errorf("%+v, %v", got, err)
	}
	ack := wire.Ack{Frames: 7, Revision: 1 << 40}
	if got, err := wire.DecodeAck(ack.Encode()); err != nil || got != ack {
		t.Errorf("%+v, %v", got, err)
	}
	ask := wire.Ask{Level: wire.LevelMembers, Buckets: []int{0, 77, 4095}}
	for range 2 {
		if got, err := wire.DecodeAsk(ask.Encode()); err != nil || !reflect.DeepEqual(got, ask) {
			t.Errorf("%+v, %v", got, err)
		}
		ask.Short = true
	}
	answer := wire.Answer{
		More:    true,
		Digests: []store.Digest{{Hi: 1}, {Lo: 9}},
		Members: []store.KeyHash{{Key: key(1), Hash: store.Hash{5}}},
	}
	got, err := wire.DecodeAnswer(answer.Encode())
	if err != nil || !got.More || !slices.Equal(got.Digests, answer.Digests) ||
		!slices.Equal(got.Members, answer.Members) {
		t.Errorf("%+v, %v", got, err)
	}
	short := wire.Answer{Short: true, Digests: []store.Digest{{Hi: 7, Lo: 0x50009}, {Lo: 0xffff}}}
	if got, err := wire.DecodeAnswer(short.Encode()); err != nil || !got.Short ||
		!slices.Equal(got.Digests, []store.Digest{{Lo: 9}, {Lo: 0xffff}}) ||
		got.Digests[0] != wire.Short(short.Digests[0]) {
		t.Errorf("%+v, %v", got, err)
	}
	other := resume.Encode()
	other[0] = 9
	if _, err := wire.DecodeResume(other); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("another version: %v", err)
	}
}

func key(i int) store.Key {
	return store.Key{Space: "s", Resource: "pods", Namespace: "web", Name: fmt.Sprintf("web-%d", i)}
}

// Any sequence of batches with any changes of slots, revisions and patches comes out as it went in.
func TestBatches(t *testing.T) {
	codec := compress.Default()
	rapid.Check(t, func(t *rapid.T) {
		have := map[store.Key]store.Entry{} // what the receiver has
		sent := map[store.Key][]byte{}
		enc := wire.NewEncoder(codec)
		dec := wire.NewDecoder(codec, func(k store.Key, h store.Hash) ([]byte, error) {
			if have[k].Hash != h {
				return nil, fmt.Errorf("asked for %s with hash %s", k, h)
			}
			return have[k].Body, nil
		})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		revision := int64(0)
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			revision += int64(random.IntN(3))
			var items []wire.Item
			want := map[store.Key]store.Entry{}
			for range []int{1, random.IntN(250)}[random.IntN(2)] {
				k := key(random.IntN(900))
				if _, twice := want[k]; twice {
					continue
				}
				e := store.Entry{Key: k, Revision: revision - int64(random.IntN(3)), Generation: int64(random.IntN(4))}
				if random.IntN(5) == 0 {
					e.Priority = store.PriorityError
					e.Tombstone, e.Removal, e.Intended = true, store.Removal(
						random.IntN(int(store.MaxRemoval)+1),
					), random.IntN(
						2,
					) == 0
					items = append(items, wire.Item{Entry: e})
					want[k] = e
					delete(sent, k)
					continue
				}
				e.Body = fmt.Appendf(
					nil,
					`{"status":{"phase":"Running","podIP":"10.0.0.%d","conditions":[{"type":"Ready"}]},"at":%d}`,
					random.IntN(250),
					random.IntN(1000),
				)
				e.Priority = []store.Priority{store.PriorityError, store.PriorityState,
					store.PriorityAssociated, store.PriorityEvent}[random.IntN(4)]
				it := wire.Item{Entry: e, Report: random.IntN(2) == 0}
				if base := sent[k]; base != nil && enc.Knows(k) {
					it.Patch, _ = wire.MakePatch(base, e.Body)
				}
				e.Hash = store.HashBody(e.Generation, e.Body)
				if it.Report {
					e.Hash = store.HashReport(e.Generation, e.Body)
				}
				items = append(items, it)
				want[k] = e
				sent[k] = e.Body
			}
			if len(items) == 1 && !items[0].Entry.Tombstone && random.IntN(2) == 0 {
				items[0].Packed = compress.Default().Encode(nil, items[0].Bytes())
			}
			entries, through, partial, err := dec.Decode(enc.Encode(items, revision, revision%2 == 0))
			if err != nil {
				t.Fatal(err)
			}
			if through != revision || partial != (revision%2 == 0) || len(entries) != len(want) {
				t.Fatalf(
					"through %d, partial %t, %d entries; want %d, %d entries",
					through,
					partial,
					len(entries),
					revision,
					len(want),
				)
			}
			for _, e := range entries {
				if w := want[e.Key]; fmt.Sprint(w) != fmt.Sprint(e) {
					t.Fatalf("got %v, want %v", e, w)
				}
				have[e.Key] = e
			}
		}
	})
}

func TestOnlyATombstoneSaysHowItRemoves(t *testing.T) {
	tombstone := wire.NewEncoder(
		compress.Default(),
	).Encode(
		[]wire.Item{{Entry: store.Entry{Key: key(1), Tombstone: true, Removal: store.RemoveKeepDependents}}},
		0,
		false,
	)
	if tombstone[0]&2 != 0 {
		t.Fatal("the batch is compressed")
	}
	entries, _, _, err := wire.NewDecoder(compress.Default(), nil).Decode(tombstone)
	if err != nil || entries[0].Removal != store.RemoveKeepDependents {
		t.Fatalf("%v, %v", entries, err)
	}
	tombstone[3] &^= 2 // flags of the batch, revision, number of entries, then the flags of the entry
	entries, _, _, err = wire.NewDecoder(compress.Default(), nil).Decode(append(tombstone, 0))
	if err != nil || entries[0].Removal != 0 || entries[0].Priority != store.PriorityAssociated {
		t.Errorf("a live entry with the same bits: %v, %v", entries, err)
	}
}

func TestPatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "base")
		next := slices.Concat(
			base[:rapid.IntRange(0, len(base)).Draw(t, "cut")],
			rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "new"),
			base[rapid.IntRange(0, len(base)).Draw(t, "from"):],
		)
		patch, ok := wire.MakePatch(base, next)
		if !ok {
			return
		}
		if got, err := wire.ApplyPatch(base, patch); err != nil || !bytes.Equal(got, next) {
			t.Fatalf("got %q, want %q, %v", got, next, err)
		}
	})
}

func TestPatchStaysInside(t *testing.T) {
	for name, patch := range map[string][]byte{
		"copy behind the end": {20 << 1 & 0x7f, 0}, "copy before the start": {2, 3},
		"literal cut off": {9, 'x'}, "too large": bytes.Repeat([]byte{0xfe, 0xff, 0x7f, 0}, 4),
	} {
		if out, err := wire.ApplyPatch([]byte("0123456789"), patch); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(wire.AppendFrame(nil, wire.TypeAck, []byte("x")))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, payload, err := wire.ReadFrame(bufio.NewReader(bytes.NewReader(b)), 100); err == nil &&
			len(payload) > 100 {
			t.Error("a payload over the limit")
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add(wire.Resume{Bases: true}.Encode())
	f.Add(wire.Resume{Short: true}.Encode())
	f.Add(wire.Ack{Frames: 1, Revision: 5}.Encode())
	f.Add(wire.Ask{Level: wire.LevelOuter, Short: true}.Encode())
	f.Add(wire.Answer{Short: true, Digests: []store.Digest{{Lo: 1}, {Lo: 2}}}.Encode())
	f.Add(wire.Ask{Level: wire.LevelInner, Buckets: []int{1, 2}}.Encode())
	f.Add(wire.Answer{Members: []store.KeyHash{{Key: key(1)}}}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := wire.DecodeResume(b); err == nil {
			again(t, m, wire.DecodeResume, wire.Resume.Encode)
		}
		if m, err := wire.DecodeStart(b); err == nil {
			again(t, m, wire.DecodeStart, wire.Start.Encode)
		}
		if m, err := wire.DecodeAck(b); err == nil {
			again(t, m, wire.DecodeAck, wire.Ack.Encode)
		}
		if m, err := wire.DecodeAsk(b); err == nil {
			again(t, m, wire.DecodeAsk, wire.Ask.Encode)
		}
		if m, err := wire.DecodeAnswer(b); err == nil {
			again(t, m, wire.DecodeAnswer, wire.Answer.Encode)
		}
	})
}

func again[M any](t *testing.T, m M, decode func([]byte) (M, error), encode func(M) []byte) {
	t.Helper()
	if got, err := decode(encode(m)); err != nil || fmt.Sprint(got) != fmt.Sprint(m) {
		t.Errorf("%v became %v, %v", m, got, err)
	}
}

func FuzzBatch(f *testing.F) {
	enc := wire.NewEncoder(compress.Default())
	e := store.Entry{Key: key(1), Revision: 3, Body: []byte(`{"a":1}`)}
	f.Add(enc.Encode([]wire.Item{{Entry: e}, {Entry: store.Entry{Key: key(2), Tombstone: true}},
		{Entry: store.Entry{Key: key(3), Tombstone: true, Removal: store.RemoveOrphan}}}, 3, false))
	f.Add([]byte{0, 2, 1, 8, 0, 2, 5, 1})
	f.Add(enc.Encode([]wire.Item{{Entry: e, Packed: compress.Default().Encode(nil, e.Body)}}, 4, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		dec := wire.NewDecoder(
			compress.Default(),
			func(store.Key, store.Hash) ([]byte, error) { return []byte("0123456789"), nil },
		)
		for range 2 { // the second time keys are known
			entries, _, _, err := dec.Decode(b)
			if err != nil {
				return
			}
			for _, e := range entries {
				if err := e.Key.Validate(); err != nil || len(e.Body) > store.MaxBodyBytes {
					t.Errorf("%v of %d bytes: %v", e.Key, len(e.Body), err)
				}
			}
		}
	})
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte("0123456789"), []byte{3, 'a', 8, 0})
	f.Fuzz(func(t *testing.T, base, patch []byte) {
		if out, err := wire.ApplyPatch(base, patch); err == nil && len(out) > store.MaxBodyBytes {
			t.Error("a body over the limit")
		}
		if made, ok := wire.MakePatch(base, patch); ok {
			if out, err := wire.ApplyPatch(base, made); err != nil || !bytes.Equal(out, patch) {
				t.Errorf("%q, %v", out, err)
			}
		}
	})
}
