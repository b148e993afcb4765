package inventory

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// Handler answers what Takes reports. The requests have been authorized.
type Handler struct {
	Table  *Table
	Center Center
}

const (
	// longest is how long a watch goes on whose reader does not say it.
	longest = 30 * time.Minute
	// bookmarkEvery is how often a watch tells its reader up to which revision it knows everything.
	bookmarkEvery = time.Minute
	// freshness is how long a list waits for a revision that its reader has seen elsewhere.
	freshness = 3 * time.Second
)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	switch {
	case !ok || Kind(info.Resource) == "" || info.Subresource != "" && info.Subresource != "status":
		response.Write(w, response.NotFound())
		return
	case info.Verb != "get" && info.Verb != "list" && info.Verb != "watch":
		response.Write(
			w,
			response.Status(
				http.StatusMethodNotAllowed,
				metav1.StatusReasonMethodNotAllowed,
				readOnly(info.Resource),
			),
		)
		return
	}
	q := r.URL.Query()
	selects, err := readSelection(q, info.Namespace, info.Name, r.Header.Get("Accept"))
	var after int64
	if text := q.Get("resourceVersion"); err == nil && text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			err = fmt.Errorf("resourceVersion: it is a number that a list or an object had")
		}
	}
	if err != nil {
		response.Write(
			w,
			response.Status(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error()),
		)
		return
	}
	if !h.Table.await(r.Context(), after) {
		response.Write(
			w,
			response.Status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
				"what is asked for is not known here yet: try again"),
		)
		return
	}
	if info.Verb == "watch" {
		h.watch(w, r, info, selects, after)
		return
	}
	h.read(w, r, info, selects)
}

// readOnly says why an object of a resource cannot be written, and what to do instead.
func readOnly(resource string) string {
	if resource == Decisions {
		return "placementdecisions show what the center has decided, and are not written: change the Placement that " +
			"placement-key names"
	}
	return "clusterprofiles show the sites of the center, and are not written: change the labels of the SyncTarget in root"
}

// read answers get and list.
func (h *Handler) read(
	w http.ResponseWriter,
	r *http.Request,
	info *apirequest.RequestInfo,
	s selection,
) {
	space := request.Space(r.Context())
	h.Table.mu.Lock()
	of, revision := h.Table.objectsLocked(space, info.Resource, ""), h.Table.revision
	h.Table.mu.Unlock()
	items := []map[string]any{}
	for _, o := range h.Center.objects(space, of) {
		if s.matches(o) {
			items = append(items, o)
		}
	}
	if info.Verb == "list" {
		response.WriteJSON(
			w,
			r,
			"application/json",
			s.form.list(Kind(info.Resource), strconv.FormatInt(revision, 10), items),
		)
		return
	}
	if len(items) == 0 {
		status := response.Status(http.StatusNotFound, metav1.StatusReasonNotFound,
			fmt.Sprintf("%s.%s %q not found", info.Resource, Group, info.Name))
		status.Details = &metav1.StatusDetails{Name: info.Name, Group: Group, Kind: info.Resource}
		response.Write(w, status)
		return
	}
	response.WriteJSON(w, r, "application/json", s.form.of(items[0]))
}

// await waits until the table knows a revision, and reports whether it does.
func (t *Table) await(ctx context.Context, revision int64) bool {
	ctx, cancel := context.WithTimeout(ctx, freshness)
	defer cancel()
	for {
		t.mu.Lock()
		now, moved := t.revision, t.moved
		t.mu.Unlock()
		if now > 0 && now >= revision {
			return true
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// watch answers with events until its reader goes, its time is over, or it is told to list again.
func (h *Handler) watch(
	w http.ResponseWriter,
	r *http.Request,
	info *apirequest.RequestInfo,
	s selection,
	after int64,
) {
	q, t := r.URL.Query(), h.Table
	bookmarks := q.Get("allowWatchBookmarks") == "true"
	initial, withEnd := after == 0, false
	if asked := q.Get("sendInitialEvents"); asked != "" {
		initial, withEnd = asked == "true", bookmarks
	}
	o := &watch{
		space:    request.Space(r.Context()),
		resource: info.Resource,
		center:   h.Center,
		selects:  s,
		seen:     map[string]seen{},
		wake:     make(chan struct{}, 1),
	}
	t.mu.Lock()
	if !initial && after > 0 && after < t.removedLocked(o.space, o.resource) {
		t.mu.Unlock()
		response.Write(w, expired())
		return
	}
	if o.after = after; after == 0 || initial {
		o.after = t.revision
	}
	o.begin(t.objectsLocked(o.space, o.resource, ""), t.revision, initial, withEnd)
	t.watches[o] = struct{}{}
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.watches, o)
		t.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
	end := time.NewTimer(timeout(q.Get("timeoutSeconds")))
	defer end.Stop()
	mark := time.NewTicker(bookmarkEvery)
	defer mark.Stop()
	to := http.NewResponseController(w)
	for {
		events, ended := o.take()
		for _, e := range events {
			if _, err := w.Write(e); err != nil {
				return
			}
		}
		if to.Flush() != nil || ended {
			return
		}
		select {
		case <-o.wake:
		case <-mark.C:
			if bookmarks {
				t.mu.Lock()
				o.bookmark(t.revision, false)
				t.mu.Unlock()
			}
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// timeout reads how long a watch may go on, in seconds.
func timeout(seconds string) time.Duration {
	n, err := strconv.Atoi(seconds)
	if err != nil || n <= 0 {
		return longest
	}
	return min(time.Duration(n)*time.Second, longest)
}
