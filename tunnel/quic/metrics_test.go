package quic_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// What a stranger sends beside QUIC is counted where an admin sees it.
func TestStrangersAreCounted(t *testing.T) {
	packet, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packet.Close()
	all := prometheus.NewPedanticRegistry()
	config := quic.ListenConfig{
		Packet:  packet,
		TLS:     tunneltest.NewCenter(t).TLS(t),
		Metrics: all,
		Log:     slog.New(slog.DiscardHandler),
	}
	l, err := quic.Listen(config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	stranger, err := net.Dial("udp", packet.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	want := `# HELP skerry_link_handshakes_refused_total Handshakes over QUIC that were not ` +
		`begun, because too many went on.
# TYPE skerry_link_handshakes_refused_total counter
skerry_link_handshakes_refused_total 0
# HELP skerry_link_signs_refused_total Signs of life beside QUIC that were of no session, forged or old.
# TYPE skerry_link_signs_refused_total counter
skerry_link_signs_refused_total 1
`
	if _, err := stranger.Write(bytes.Repeat([]byte{0x22}, int(quic.QuestionBytes))); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if err = testutil.GatherAndCompare(all, strings.NewReader(want)); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	config.Packet = other
	if l, err := quic.Listen(config); err == nil {
		l.Close()
		t.Error("two listeners count in one place")
	}
}
