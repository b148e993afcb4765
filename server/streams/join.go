package streams

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"skerry.dev/skerry/tunnel/exchange"
)

// chunk is how much is copied at a time in each direction.
const chunk = 32 << 10

// lastWords is how long a client may take for what is still to be sent when one side has ended.
const lastWords = time.Second

// join takes over the client's connection, answers its upgrade, and passes bytes between it and the
// site until one side ends or ctx does. A site that takes nothing any more may still have output for
// the client, which ends it. A client over SPDY that has no Status of its command then
// gets one that names the site. It fails when the connection cannot be taken over.
func join(
	ctx context.Context,
	w http.ResponseWriter,
	header http.Header,
	conn io.ReadWriteCloser,
	site string,
) error {
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errNoUpgrade
	}
	defer client.Close()
	over := func() {
		conn.Close()
		_ = client.SetWriteDeadline(time.Now().Add(lastWords)) // fails with the connection
	}
	defer over()
	defer context.AfterFunc(ctx, over)()
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = header.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	if _, err := client.Write(head.Bytes()); err != nil {
		return nil // the client has gone
	}
	var up sync.WaitGroup
	up.Go(func() {
		defer over()
		_, _ = io.CopyBuffer(exchange.Heedless(conn), onlyReader{buffered.Reader}, make([]byte, chunk))
	})
	from, status := io.Reader(conn), statusOf(header, conn)
	if status != nil {
		from = status
	}
	_, _ = io.CopyBuffer(onlyWriter{client}, onlyReader{from}, make([]byte, chunk))
	over()
	if status != nil {
		status.tell(client, site)
	}
	client.Close()
	up.Wait()
	return nil
}

// onlyReader and onlyWriter hide the methods by which io.Copy would take another buffer.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)
