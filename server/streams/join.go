package streams

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// chunk is how much is copied at a time in each direction.
const chunk = 32 << 10

// join takes over the client's connection, answers its upgrade, and passes bytes between it and the
// site until one side ends or ctx does. It fails when the connection cannot be taken over.
func join(
	ctx context.Context,
	w http.ResponseWriter,
	header http.Header,
	site io.ReadWriteCloser,
) error {
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errNoUpgrade
	}
	end := sync.OnceFunc(func() {
		client.Close()
		site.Close()
	})
	defer end()
	defer context.AfterFunc(ctx, end)()
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = header.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	if _, err := client.Write(head.Bytes()); err != nil {
		return nil // the client has gone
	}
	var up sync.WaitGroup
	up.Go(func() {
		defer end()
		_, _ = io.CopyBuffer(
			onlyWriter{site},
			onlyReader{buffered.Reader},
			make([]byte, chunk),
		) // either end is the end
	})
	_, _ = io.CopyBuffer(onlyWriter{client}, onlyReader{site}, make([]byte, chunk))
	end()
	up.Wait()
	return nil
}

// onlyReader and onlyWriter hide the methods by which io.Copy would take another buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
