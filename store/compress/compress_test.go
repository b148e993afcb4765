package compress_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"skerry.dev/skerry/store/compress"
)

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment",` +
	`"metadata":{"annotations":{"skerry.dev/origin":"shop/",` +
	`"skerry.dev/origin-uid":"f3b1c2d4-0000-4000-a000-123456789abc"},` +
	`"labels":{"app":"orders"},"name":"orders","namespace":"shop"},` +
	`"spec":{"progressDeadlineSeconds":600,"replicas":3,"revisionHistoryLimit":10,` +
	`"selector":{"matchLabels":{"app":"orders"}},` +
	`"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},` +
	`"type":"RollingUpdate"},"template":{"metadata":{"labels":{"app":"orders"}},` +
	`"spec":{"containers":[{"image":"registry.example.com/orders:v3",` +
	`"imagePullPolicy":"IfNotPresent","name":"orders","resources":{},` +
	`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],` +
	`"dnsPolicy":"ClusterFirst","restartPolicy":"Always",` +
	`"schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}`

func TestRoundTrip(t *testing.T) {
	for _, c := range []*compress.Codec{compress.Default(), compress.Thorough()} {
		for _, s := range []string{"", "x", deployment, strings.Repeat("a", compress.MaxDecoded)} {
			packed := c.Encode(nil, []byte(s))
			got, err := compress.Default().Decode(nil, packed, compress.MaxDecoded)
			if err != nil || string(got) != s {
				t.Errorf("%d bytes became %d, %v", len(s), len(got), err)
			}
		}
	}
}

func TestThoroughEarnsItsTime(t *testing.T) {
	quick, thorough := len(compress.Default().Encode(nil, []byte(deployment))),
		len(compress.Thorough().Encode(nil, []byte(deployment)))
	if thorough >= quick {
		t.Errorf("%d bytes, %d without the effort", thorough, quick)
	}
	t.Logf("a Deployment of %d bytes takes %d, and %d with the effort", len(deployment), quick,
		thorough)
}

func TestDictionaryEarnsItsPlace(t *testing.T) {
	if n := len(compress.Default().Encode(nil, []byte(deployment))); n > len(deployment)/3 {
		t.Errorf("a Deployment of %d bytes takes %d, at most a third", len(deployment), n)
	}
	if len(compress.DictionaryName()) != 16 {
		t.Errorf("name %q", compress.DictionaryName())
	}
}

func TestBoundsHold(t *testing.T) {
	c := compress.Default()
	plain, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := plain.EncodeAll(make([]byte, 64<<20), nil)
	var stream bytes.Buffer
	unsized, err := zstd.NewWriter(&stream)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		unsized.Write(make([]byte, 1<<20))
	}
	unsized.Close()
	for name, frame := range map[string][]byte{
		"bomb": bomb, "without a size": stream.Bytes(),
		"over the limit": c.Encode(nil, make([]byte, 101)), "empty": nil,
		"garbage": []byte("not a frame at all"),
		"two frames": append(c.Encode(nil, []byte("a")),
			c.Encode(nil, make([]byte, 500))...),
		"cut off": c.Encode(nil, []byte(deployment))[:50],
	} {
		if out, err := c.Decode(nil, frame, 100); !errors.Is(err, compress.ErrFrame) ||
			len(out) > 0 {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				packed := compress.Default().Encode(nil, []byte(deployment))
				if got, err := compress.Default().Decode(nil, packed, 1<<20); err != nil ||
					string(got) != deployment {
					t.Error("a round trip failed", err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzDecode(f *testing.F) {
	f.Add(compress.Default().Encode(nil, []byte(deployment)))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x01, 0x09, 0x00, 0x00, 0x61})
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, err := compress.Default().Decode(nil, b, 1<<16); err == nil && len(out) > 1<<16 {
			t.Error("more than allowed")
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	for b.Loop() {
		compress.Default().Encode(nil, []byte(deployment))
	}
}
