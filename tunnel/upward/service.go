package upward

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"skerry.dev/skerry/tunnel/exchange"
)

// askService is the value of headerAsk for a connection to a Service.
const askService = "service"

// headerService names the Service: NAMESPACE/NAME/UID/PORT, and /HOST for one of its Pods. headerCaller says which
// Pod calls.
const (
	headerService = "Skerry-Service"
	headerCaller  = "Skerry-Caller"
	// headerOwn has any value where the targets below whoever calls need not be asked any more.
	headerOwn = "Skerry-Own-Asked"
)

// ServiceCall asks for a connection to a port of a Service of a space, at whatever site answers.
type ServiceCall struct {
	// Namespace and Service are names in the space, UID is that of the Service there.
	Namespace, Service, UID string
	// Port is one of the Service's own.
	Port uint16
	// Host is the host name of the Pod of the Service that is called, empty for any.
	Host string
	// Caller is the Pod that calls, as exchange.Caller.Encode has it; empty where nothing is known of it.
	Caller string
	// Own says that a relay calls whose own targets have been asked, or are.
	Own bool
}

var uidForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Call asks the parent for a connection to a Service. Site is the path of the site below this tier, empty
// where this is the site. The connection has to be closed; it ends with ctx, and is an exchange.CloseWriter. A
// refusal is an *exchange.Fault: nothing was sent then to whatever answers for the Service. Of a context that is
// traced, the parent says what it and the places behind it decided.
func Call(ctx context.Context, up http.RoundTripper, space, site string, c ServiceCall) (io.ReadWriteCloser, error) {
	conn, _, err := CallHere(ctx, up, space, site, c)
	return conn, err
}

// CallHere is Call, and says what else answers, at the site that calls, straight.
func CallHere(ctx context.Context, up http.RoundTripper, space, site string, c ServiceCall) (
	conn io.ReadWriteCloser, here []Here, err error,
) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://parent/", nil)
	if err != nil {
		return nil, nil, fmt.Errorf("make a call for a Service: %w", err)
	}
	req.Header = Request(exchange.Bytes(), space, site)
	req.Header.Set(headerAsk, askService)
	req.Header.Set(headerService, c.String())
	if c.Caller != "" {
		req.Header.Set(headerCaller, c.Caller)
	}
	if c.Own {
		req.Header.Set(headerOwn, "true")
	}
	trace := exchange.TraceOf(ctx)
	trace.Ask(req.Header)
	resp, err := up.RoundTrip(req)
	if err != nil {
		return nil, nil, awayFault{unreachable("the parent", err)}
	}
	trace.Take("..", resp.Header)
	here = ReadHere(resp.Header)
	if conn, err = exchange.Connection(resp); err != nil {
		return nil, nil, err // a refusal leads nowhere
	}
	return conn, here, nil
}

// String is what names the Service on the wire.
func (c ServiceCall) String() string {
	text := c.Namespace + "/" + c.Service + "/" + c.UID + "/" + strconv.Itoa(int(c.Port))
	if c.Host != "" {
		text += "/" + c.Host
	}
	return text
}

// IsServiceCall reports whether a request that has arrived asks for a connection to a Service.
func IsServiceCall(h http.Header) bool { return h.Get(headerAsk) == askService }

// ReadServiceCall reads what a request asks for. The error wraps ErrRequest.
func ReadServiceCall(r *http.Request) (c ServiceCall, err error) {
	if len(r.Header[headerService]) != 1 || !isUpgrade(r.Header) {
		return c, fmt.Errorf("%w: a call names one Service and upgrades its connection", ErrRequest)
	}
	text := r.Header[headerService][0]
	parts := strings.Split(text, "/")
	host := ""
	switch len(parts) {
	case 4:
	case 5:
		host = parts[4]
	default:
		return c, fmt.Errorf("%w: Service %.80q", ErrRequest, text)
	}
	port, err := strconv.ParseUint(parts[3], 10, 16)
	c = ServiceCall{Namespace: parts[0], Service: parts[1], UID: parts[2], Port: uint16(port), Host: host,
		Caller: r.Header.Get(headerCaller), Own: r.Header.Get(headerOwn) != ""}
	if host != "" && !exchange.IsHost(host) {
		return ServiceCall{}, fmt.Errorf("%w: Service %.80q", ErrRequest, text)
	}
	if err != nil || port == 0 || !nameForm.MatchString(c.Namespace) || !nameForm.MatchString(c.Service) ||
		!uidForm.MatchString(c.UID) || c.String() != text {
		return ServiceCall{}, fmt.Errorf("%w: Service %.80q", ErrRequest, text)
	}
	switch len(r.Header[headerCaller]) {
	case 0:
		return c, nil
	case 1:
		_, err = exchange.ReadCaller(c.Caller)
		return c, err
	}
	return ServiceCall{}, fmt.Errorf("%w: a call comes from one Pod", ErrRequest)
}

// AnswerServiceCall passes bytes between whoever calls and a connection, which it closes, until both have
// ended or the request's context has. Of the headers of w it sends exchange.HeaderTrace and those of LeadHere.
func AnswerServiceCall(w http.ResponseWriter, r *http.Request, conn io.ReadWriteCloser) error {
	defer conn.Close()
	caller, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("take over the connection of a call: %w", err)
	}
	defer caller.Close()
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	answer := exchange.Bytes()
	for _, name := range []string{exchange.HeaderTrace, headerHere} {
		if value := w.Header().Get(name); value != "" {
			answer.Set(name, value)
		}
	}
	_ = answer.Write(&head) // a buffer takes everything
	head.WriteString("\r\n")
	if _, err := caller.Write(head.Bytes()); err != nil {
		return fmt.Errorf("answer a call: %w", err)
	}
	stop := context.AfterFunc(r.Context(), func() {
		caller.Close()
		conn.Close()
	})
	defer stop()
	// The server's own reader would end the request's context with the caller's half.
	first, _ := buffered.Reader.Peek(buffered.Reader.Buffered()) // which is there
	exchange.Pass(called{caller, io.MultiReader(bytes.NewReader(first), caller)}, conn)
	return nil
}

// called is the connection of whoever calls, of which something may have been read already.
type called struct {
	net.Conn
	r io.Reader
}

// Read implements io.Reader.
func (c called) Read(p []byte) (int, error) { return c.r.Read(p) }

// CloseWrite implements exchange.CloseWriter.
func (c called) CloseWrite() error {
	if half, can := c.Conn.(exchange.CloseWriter); can {
		return half.CloseWrite()
	}
	return http.ErrNotSupported
}
