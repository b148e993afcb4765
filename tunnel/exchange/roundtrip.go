package exchange

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel"
)

// ErrAnswer is wrapped by every error about an answer that breaks the rules of this package.
var ErrAnswer = errors.New("the answer is not as it has to be")

// answerTime is how long RoundTrip waits for the head of an answer, but of verbs that wait: a
// container's process has to be started for it.
const answerTime = 60 * time.Second

// endTime is how long Close waits for the end of a stream behind the end of a body.
const endTime = time.Second

// RoundTrip sends a request over a stream, which it takes over, and returns the answer. Of an
// answer with code 101 the Body is an io.ReadWriteCloser of the upgraded connection. The body must
// be closed; the stream ends with it, and at once when ctx does.
func RoundTrip(ctx context.Context, stream tunnel.Stream, r *Request) (*http.Response, error) {
	if r.Verb == Connect && r.Resource == Services && TraceOf(ctx) != nil {
		traced := *r
		traced.Traced, r = true, &traced
	}
	text, err := r.encode()
	if err != nil {
		stream.Cancel()
		return nil, err
	}
	b := &body{stream: stream, stop: context.AfterFunc(ctx, stream.Cancel)}
	resp, err := b.ask(text, r)
	if err != nil {
		b.stop()
		stream.Cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return resp, nil
}

// ask sends the request and reads the head of the answer.
func (b *body) ask(text []byte, r *Request) (*http.Response, error) {
	if !r.Verb.Waits() {
		_ = b.stream.SetDeadline(
			time.Now().Add(answerTime),
		) // fails with the stream, which is told next
	}
	if r.answersAtOnce() {
		tunnel.Expect(b.stream, tunnel.Answered)
	}
	if _, err := b.stream.Write(text); err != nil {
		return nil, fmt.Errorf("send the request: %w", err)
	}
	resp, in, err := readAnswer(b.stream, r.Upgrade)
	if err != nil {
		return nil, err
	}
	_ = b.stream.SetDeadline(time.Time{})
	if resp.StatusCode == http.StatusSwitchingProtocols {
		b.r = &drained{in, b.stream}
		resp.Body = &upgraded{b}
		return resp, nil
	}
	b.r, b.rest = resp.Body, in
	resp.Body = b
	return resp, nil
}

// readAnswer reads the head of an answer. Asked are the headers of the upgrade that was asked for.
// The reader that it returns has what follows the head. Its error wraps ErrAnswer.
func readAnswer(from io.Reader, asked http.Header) (*http.Response, *bufio.Reader, error) {
	h := &head{from, maxHead}
	in := bufio.NewReaderSize(h, chunk) // a smaller one would break up what is passed on
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	h.over()
	resp.Header, err = passing(asked, resp.StatusCode, resp.Header)
	return resp, in, err
}

// drained reads what a buffer has, and then goes without it: a connection may be idle for hours.
type drained struct {
	buffer *bufio.Reader // nil once it is empty
	rest   io.Reader
}

// Read implements io.Reader.
func (d *drained) Read(p []byte) (int, error) {
	if d.buffer != nil && d.buffer.Buffered() > 0 {
		return d.buffer.Read(p)
	}
	d.buffer = nil
	return d.rest.Read(p)
}

// body is that of an answer.
type body struct {
	stream tunnel.Stream
	stop   func() bool
	r      io.Reader
	rest   io.Reader // what follows the body: the end of the stream
	ended  bool      // read to its end
	once   sync.Once
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err == io.EOF {
		b.ended = true
	}
	return n, err
}

// Close implements io.Closer. It must not be called while Read runs, but for an upgraded
// connection.
func (b *body) Close() error {
	b.once.Do(func() {
		b.stop()
		if !b.ended || b.stream.Close() != nil || !b.over() {
			b.stream.Cancel()
		}
	})
	return nil
}

// over reports whether the child has ended its half of the stream behind the body, as it does at
// once. A stream whose end nobody reads would be kept.
func (b *body) over() bool {
	_ = b.stream.SetDeadline(time.Now().Add(endTime))
	n, err := io.Copy(io.Discard, io.LimitReader(b.rest, 1))
	return n == 0 && err == nil
}

// upgraded is an upgraded connection. Close may be called while Read and Write run.
type upgraded struct{ b *body }

// Read implements io.Reader.
func (u *upgraded) Read(p []byte) (int, error) {
	n, err := u.b.r.Read(p)
	if err == io.EOF {
		_ = u.b.stream.Close() // everything was read: the child may forget the stream
	}
	return n, err
}

// Write implements io.Writer.
func (u *upgraded) Write(p []byte) (int, error) { return u.b.stream.Write(p) }

// CloseWrite implements CloseWriter.
func (u *upgraded) CloseWrite() error { return u.b.stream.Close() }

// Close implements io.Closer.
func (u *upgraded) Close() error {
	u.b.once.Do(func() {
		u.b.stop()
		u.b.stream.Cancel()
	})
	return nil
}
