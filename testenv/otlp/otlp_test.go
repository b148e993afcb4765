package otlp

import (
	"encoding/binary"
	"testing"
)

// field is a field of a message with a length.
func field(n byte, parts ...string) string {
	text := ""
	for _, p := range parts {
		text += p
	}
	return string(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(text)))) + text
}

func pair(key, value string) string { return field(1, key) + field(2, field(1, value)) }

func message() string {
	resource := field(1, field(1, pair("service.name", "skerry-agent")), field(1, pair("service.instance.id", "oslo")))
	span := field(2, field(1, "\x01\x02"), field(2, "\x03"), field(4, "\x04"), field(5, "skerry.apply"),
		"\x30\x01", "\x39\x00\x00\x00\x00\x00\x00\x00\x00", field(9, pair("skerry.name", "web")))
	return field(1, resource, field(2, field(1, "scope"), span))
}

func TestDecode(t *testing.T) {
	spans, err := Decode([]byte(message()))
	if err != nil || len(spans) != 1 {
		t.Fatalf("%v, %v", spans, err)
	}
	want := `trace=0102 id=03 parent=04 skerry-agent/oslo "skerry.apply" skerry.name=web`
	if got := spans[0].String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(message()))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Decode(data) })
}
