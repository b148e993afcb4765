package pods

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
)

// The line of the audit log says how much passed over an upgraded connection, also what the client sent
// before the answer.
func TestBytesOfAStreamAreAudited(t *testing.T) {
	told := make(chan map[string]string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := audit.WithAuditContext(r.Context())
		event := audit.AuditContextFrom(ctx)
		if err := event.Init(audit.RequestAuditConfig{Level: auditapi.LevelMetadata}, nil); err != nil {
			t.Error(err)
		}
		count := &counted{ResponseWriter: w}
		conn, buffered, err := http.NewResponseController(count).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if line, err := buffered.ReadString('\n'); err != nil || line != "early\n" {
			t.Errorf("%q, %v", line, err)
		}
		_, _ = io.WriteString(conn, "the answer")
		rest, _ := io.ReadAll(buffered)
		if string(rest) != "and later" {
			t.Errorf("%q", rest)
		}
		count.tell(r.WithContext(ctx))
		told <- event.GetEventAnnotations()
	}))
	defer server.Close()
	address, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTCP("tcp", nil, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly\n")
	answer := make([]byte, len("the answer"))
	if _, err := io.ReadFull(bufio.NewReader(conn), answer); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "and later")
	_ = conn.CloseWrite()
	got := <-told
	if got["skerry.dev/bytes-received"] != "15" || got["skerry.dev/bytes-sent"] != "10" {
		t.Errorf("annotations %v", got)
	}
}
