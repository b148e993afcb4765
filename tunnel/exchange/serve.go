package exchange

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"skerry.dev/skerry/tunnel"
)

const (
	// requestTime is how long the peer may take to send its request.
	requestTime = 10 * time.Second
	// lingerTime is how long the peer may take to read what was sent last. It is more than a full
	// window needs on a slow link.
	lingerTime = 60 * time.Second
	// chunk is how much is copied at a time: all that a direction of a stream takes in memory
	// beside the windows of its connection.
	chunk = 32 << 10
)

// Answer answers a request. Of an answer with code 101 the Body is an io.ReadWriteCloser. Serve
// closes the body. ctx ends when the peer has gone, and reads of the body have to end with it.
type Answer func(ctx context.Context, r *Request) (*http.Response, error)

// Serve reads a request from a stream, has it answered and sends the answer. It returns when the
// exchange is over and has cancelled the stream unless both sides ended it.
func Serve(ctx context.Context, stream tunnel.Stream, answer Answer) error {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	stop := context.AfterFunc(ctx, stream.Cancel)
	defer stop()
	s := &serving{stream: stream, gone: gone, peeked: make(chan struct{})}
	err := s.serve(ctx, answer)
	stop()
	if s.broken || !s.linger() {
		stream.Cancel()
	}
	if s.peeking {
		<-s.peeked
	}
	return err
}

type serving struct {
	stream  tunnel.Stream
	in      *bufio.Reader
	gone    context.CancelCauseFunc
	broken  bool // the stream does not take what is sent
	peeking bool
	peeked  chan struct{} // closed when something came after the request, or the stream ended
}

func (s *serving) serve(ctx context.Context, answer Answer) error {
	_ = s.stream.SetDeadline(
		time.Now().Add(requestTime),
	) // fails with the stream, which is told next
	r, in, err := Read(s.stream)
	s.in = in
	if err != nil {
		return s.send(FaultOf(err).Response(), nil)
	}
	_ = s.stream.SetDeadline(time.Time{})
	s.peeking = true
	go s.peek(r.Upgrade != nil)
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	var trace *Trace
	if r.Traced {
		ctx, trace = Tracing(ctx)
	}
	began := time.Now()
	resp, err := answer(ctx, r)
	if err != nil {
		resp = FaultOf(err).Response()
		if trace.silent() {
			trace.Add(HopOf(".", err, time.Since(began)))
		}
	}
	trace.Tell(resp.Header)
	defer resp.Body.Close()
	return s.send(resp, r.Upgrade)
}

// peek ends the exchange when the peer goes before it has its answer. Nothing is taken from the
// stream: what a client sends before the answer to its upgrade comes is for the target.
func (s *serving) peek(upgrade bool) {
	defer close(s.peeked)
	if _, err := s.in.Peek(1); err != nil || !upgrade {
		s.gone(errGone)
	}
}

var errGone = fmt.Errorf("whoever asked has gone")

// send sends an answer and, after an upgrade, passes bytes until one side ends.
func (s *serving) send(resp *http.Response, asked http.Header) error {
	header, err := passing(asked, resp.StatusCode, resp.Header)
	if err != nil {
		resp = FaultOf(err).Response()
		header = resp.Header
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	conn, upgraded := resp.Body.(io.ReadWriteCloser)
	upgraded = upgraded && resp.StatusCode == http.StatusSwitchingProtocols
	known := resp.ContentLength >= 0
	switch {
	case upgraded:
	case known:
		header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	default:
		header.Set("Transfer-Encoding", "chunked")
	}
	_ = header.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	if _, err := s.Write(b.Bytes()); err != nil {
		return fmt.Errorf("send the answer: %w", err)
	}
	switch {
	case upgraded:
		return s.join(conn)
	case known:
		var n int64
		n, err = io.CopyBuffer(
			s,
			io.LimitReader(resp.Body, resp.ContentLength),
			make([]byte, chunk),
		)
		if err == nil && n < resp.ContentLength {
			err = io.ErrUnexpectedEOF
		}
	default:
		err = s.chunks(resp.Body)
	}
	if end := s.stream.Close(); err == nil {
		err = end
	}
	if err != nil { // an answer that breaks off lacks bytes or its last chunk: nobody takes it for whole
		return fmt.Errorf("send the answer: %w", err)
	}
	return nil
}

// Write sends bytes, and notes when the stream does not take them.
func (s *serving) Write(p []byte) (int, error) {
	n, err := s.stream.Write(p)
	s.broken = s.broken || err != nil
	return n, err
}

// chunks sends a body whose length is not known: what was read is on its way before more is read.
func (s *serving) chunks(from io.Reader) error {
	const before = len("ffffffff\r\n") // room for the length, which stands before what was read
	buffer := make([]byte, before+chunk)
	for {
		n, err := from.Read(buffer[before : len(buffer)-len("\r\n")])
		if n > 0 {
			length := strconv.AppendInt(make([]byte, 0, before), int64(n), 16)
			begin := before - len(length) - len("\r\n")
			copy(buffer[begin:], append(length, '\r', '\n'))
			copy(buffer[before+n:], "\r\n")
			if _, err := s.Write(buffer[begin : before+n+len("\r\n")]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err // without the last chunk, so that nobody takes it for the end
		}
	}
	_, err := io.WriteString(s, "0\r\n\r\n")
	return err
}

// join passes bytes between the stream and an upgraded connection. When the connection ends, what
// it sent is sent on; when the stream ends, the connection is closed, or told so if it is a
// CloseWriter. A connection that takes nothing any more may still have output to be read.
func (s *serving) join(conn io.ReadWriteCloser) error {
	up := make(chan struct{})
	go func() {
		defer close(up)
		<-s.peeked
		if pour(Heedless(conn), s.in) != nil || !closeWrite(conn) {
			conn.Close()
		}
	}()
	_ = pour(s, conn) // whatever ended it, it has ended
	conn.Close()
	if s.broken || s.stream.Close() != nil {
		s.stream.Cancel()
	}
	_ = s.stream.SetDeadline(time.Now().Add(lingerTime))
	<-up
	return nil
}

// linger waits until the peer has read everything, and reports whether it has.
func (s *serving) linger() bool {
	_ = s.stream.SetDeadline(time.Now().Add(lingerTime))
	if s.peeking {
		<-s.peeked
	}
	n, err := io.Copy(io.Discard, io.LimitReader(s.stream, unread))
	return err == nil && n < unread
}

// unread is how much of what nobody wants is taken from the peer before its stream is cancelled.
const unread = 1 << 20

// Heedless returns a writer that throws away what w does not take any more. An upgraded connection
// that refuses the keep-alive of a client is not at its end: what it has sent is still to be read.
func Heedless(w io.Writer) io.Writer { return &heedless{w: w} }

type heedless struct {
	w    io.Writer
	deaf bool
}

// Write implements io.Writer. It never fails.
func (h *heedless) Write(p []byte) (int, error) {
	if !h.deaf {
		_, err := h.w.Write(p)
		h.deaf = err != nil
	}
	return len(p), nil
}
