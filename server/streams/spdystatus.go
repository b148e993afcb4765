package streams

import (
	"encoding/binary"
	"io"
	"net/http"
	"slices"

	"skerry.dev/skerry/tunnel/exchange"
)

// A frame of SPDY/3.1 has a head of 8 bytes: the stream, flags, and the length of what follows in
// 24 bits. A frame whose first bit is set is of no stream.
const (
	frameHead    = 8
	controlFrame = 1 << 31
	finFlag      = 1
	// errorStream carries the Status of a command. A client of Kubernetes opens it first.
	errorStream = 1
)

// withStatus are the versions of the protocol of exec and attach in which a command ends with a
// Status.
var withStatus = []string{"v4.channel.k8s.io", "v5.channel.k8s.io"}

// spdyStatus reads what a site sends to a client over SPDY, and notes whether the Status of the
// command has come. Without it the client takes the end of the connection for success.
type spdyStatus struct {
	io.Reader
	head []byte // of the next frame, as far as it has come
	left int    // bytes of the last frame that have not come
	of   uint32 // the first four bytes of that frame
	said bool   // the Status has come
}

// statusOf returns the reader for an upgraded connection, nil where no Status is due on it.
func statusOf(header http.Header, from io.Reader) *spdyStatus {
	if header.Get("Upgrade") != "SPDY/3.1" ||
		!slices.Contains(withStatus, header.Get("X-Stream-Protocol-Version")) {
		return nil
	}
	return &spdyStatus{Reader: from}
}

// Read implements io.Reader.
func (s *spdyStatus) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.pass(p[:n])
	return n, err
}

// pass follows the frames.
func (s *spdyStatus) pass(p []byte) {
	for len(p) > 0 {
		if s.left > 0 {
			n := min(s.left, len(p))
			s.left, p = s.left-n, p[n:]
			s.said = s.said || s.left == 0 && s.of == errorStream
			continue
		}
		n := min(frameHead-len(s.head), len(p))
		s.head, p = append(s.head, p[:n]...), p[n:]
		if len(s.head) == frameHead {
			s.of = binary.BigEndian.Uint32(s.head)
			s.left = int(binary.BigEndian.Uint32(s.head[4:]) & 0xffffff)
			s.head = s.head[:0]
		}
	}
}

// tell sends the client the Status that it lacks: that the site was lost. A frame that broke off is
// filled with zeros. Nothing can be said behind a part of a frame's head, or of a control frame.
func (s *spdyStatus) tell(client io.Writer, site string) {
	if s.said || len(s.head) > 0 || s.left > 0 && s.of&controlFrame != 0 {
		return
	}
	answer := (&exchange.Fault{Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable",
		Message: "the connection to site " + site + " broke off; the command may still run there"}).Response()
	text, _ := io.ReadAll(answer.Body) // from memory
	_, err := io.CopyN(client, zeros{}, int64(s.left))
	if err != nil {
		return // the client has gone
	}
	frame := binary.BigEndian.AppendUint32(nil, errorStream)
	frame = binary.BigEndian.AppendUint32(frame, finFlag<<24|uint32(len(text)))
	_, _ = client.Write(append(frame, text...))
}

// zeros is an endless source of zeros.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
