package agent

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
)

// holdWrite takes the next write of an object away from the target and cuts its connection. The returned
// function has the target carry it out after all, and returns the answer.
func (s *site) holdWrite(e store.Entry) (land func() int) {
	var held atomic.Pointer[http.Request]
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPatch || r.URL.Query().Has("dryRun") ||
			!strings.HasSuffix(r.URL.Path, "/"+e.Key.Resource+"/"+e.Key.Name) || held.Load() != nil {
			return false
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.t.Error(err)
		}
		late := r.Clone(s.t.Context())
		late.Body = io.NopCloser(bytes.NewReader(body))
		held.Store(late)
		panic(http.ErrAbortHandler)
	})
	return func() int {
		answer := httptest.NewRecorder()
		s.api.ServeHTTP(answer, held.Load())
		return answer.Code
	}
}

// A write that was cut may be carried out long after. It never takes the place of what was desired since.
func TestLateWriteChangesNothing(t *testing.T) {
	for _, test := range []struct {
		name, next string
		answer     int
	}{
		{"a newer version", "three", http.StatusConflict},
		{"the version before it", "one", http.StatusOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				one := configMap("default", "c", "one")
				s.desire(one)
				s.settled()
				<-s.observer.Ready()
				land := s.holdWrite(one)
				s.desire(configMap("default", "c", "two"))
				synctest.Wait() // it is tried again after a while
				s.desire(configMap("default", "c", test.next))
				s.settled()
				if got := s.data("c")["value"]; got != test.next {
					t.Fatalf("the target has %q", got)
				}
				if got := land(); got != test.answer {
					t.Errorf("the late write is answered %d, want %d", got, test.answer)
				}
				eventually(t, "the target has what is desired", func() bool { return s.data("c")["value"] == test.next })
				s.settled()
				s.healthy(configMap("default", "c", test.next))
			})
		})
	}
}
