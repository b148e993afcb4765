package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrExpired is returned when the target no longer has the history since a resourceVersion: list
// again.
var ErrExpired = errors.New("the target's history does not reach back so far")

// ErrEnough is returned by what visits the objects of a List to end it, which List returns then.
var ErrEnough = errors.New("enough seen")

// A page of a list holds so many objects, which bounds the memory of listing; more where only
// metadata are asked for.
const (
	pageSize         = 50
	metadataPageSize = 250
)

// Listing says what to list and watch: all namespaces of one resource.
type Listing struct {
	Resource Resource
	// Namespace limits a list to one; empty means all.
	Namespace string
	// LabelSelector limits a list or a watch to objects with these labels; empty means all.
	LabelSelector string
	// FieldSelector limits it to objects with these fields; empty means all.
	FieldSelector string
	// MetadataOnly leaves spec and status out, for kinds whose content the agent does not report.
	MetadataOnly bool
}

// accept is the media type that a list (metaOnlyList) or a watch (metaOnly) asks for when only
// metadata are wanted.
func (l Listing) accept(metadata string) string {
	if l.MetadataOnly {
		return metadata
	}
	return jsonType
}

// List visits all objects, page by page, and returns the resourceVersion that a Watch may start at.
func (c *Client) List(ctx context.Context, l Listing, visit func(*Object) error) (string, error) {
	next, size := "", pageSize
	if l.MetadataOnly {
		size = metadataPageSize
	}
	for {
		page, err := c.page(ctx, l, next, size)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return "", err
			}
		}
		if page.Metadata.Continue == "" {
			return page.Metadata.ResourceVersion, nil
		}
		next = page.Metadata.Continue
	}
}

type listPage struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []Object `json:"items"`
}

// Revision returns the newest resourceVersion of a resource, as a number; 0 when it is none.
func (c *Client) Revision(ctx context.Context, l Listing) (uint64, error) {
	l.MetadataOnly = true
	page, err := c.page(ctx, l, "", 1)
	if err != nil {
		return 0, err
	}
	o := Object{Metadata: Metadata{ResourceVersion: page.Metadata.ResourceVersion}}
	return o.Revision(), nil
}

func (c *Client) page(ctx context.Context, l Listing, next string, size int) (*listPage, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	query := url.Values{"limit": {strconv.Itoa(size)}}
	if next != "" {
		query.Set("continue", next)
	}
	if l.LabelSelector != "" {
		query.Set("labelSelector", l.LabelSelector)
	}
	if l.FieldSelector != "" {
		query.Set("fieldSelector", l.FieldSelector)
	}
	path := l.Resource.Path(l.Namespace, "")
	resp, err := c.send(ctx, http.MethodGet, path, query, "", l.accept(metaOnlyList), nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return nil, c.listFailure(resp)
	}
	page := &listPage{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswerBytes)).Decode(page); err != nil {
		return nil, fmt.Errorf("decode list of %s: %w", l.Resource, err)
	}
	return page, nil
}

func (c *Client) listFailure(resp *http.Response) error {
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if resp.StatusCode == http.StatusGone {
		return ErrExpired
	}
	return failure(resp.StatusCode, answer)
}

// EventType is what happened to a watched object.
type EventType string

// The types of events that Watch hands on.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
)

// Watch passes on every change after a resourceVersion, until the target ends the stream. A target
// does that about every ten minutes. It returns the newest resourceVersion that it has seen; the
// error is nil if the stream ended normally. The error is ErrExpired if the version is too old.
func (c *Client) Watch(
	ctx context.Context,
	l Listing,
	from string,
	limit time.Duration,
	visit func(EventType, *Object),
) (string, error) {
	query := url.Values{
		"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {from},
		"timeoutSeconds": {strconv.Itoa(int(limit.Seconds()))},
	}
	if l.FieldSelector != "" {
		query.Set("fieldSelector", l.FieldSelector)
	}
	if l.LabelSelector != "" {
		query.Set("labelSelector", l.LabelSelector)
	}
	// A server that forgets its own limit is left a little later by ours.
	ctx, cancel := context.WithTimeout(ctx, limit+requestTimeout)
	defer cancel()
	resp, err := c.send(ctx, http.MethodGet, l.Resource.Path(l.Namespace, ""), query, "", l.accept(metaOnly), nil)
	if err != nil {
		return from, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return from, c.listFailure(resp)
	}
	return readEvents(json.NewDecoder(resp.Body), from, visit)
}

func readEvents(decoder *json.Decoder, from string, visit func(EventType, *Object)) (string, error) {
	for {
		var event struct {
			Type   EventType       `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			if errors.Is(err, io.EOF) {
				return from, nil
			}
			return from, fmt.Errorf("read watch: %w", err)
		}
		if event.Type == "ERROR" {
			return from, watchFailure(event.Object)
		}
		o := &Object{}
		if err := json.Unmarshal(event.Object, o); err != nil {
			return from, fmt.Errorf("decode watch event: %w", err)
		}
		if o.Metadata.ResourceVersion != "" {
			from = o.Metadata.ResourceVersion
		}
		if event.Type != "BOOKMARK" {
			visit(event.Type, o)
		}
	}
}

func watchFailure(raw []byte) error {
	status := metav1.Status{}
	if err := json.Unmarshal(raw, &status); err != nil {
		return fmt.Errorf("decode watch error: %w", err)
	}
	if status.Code == http.StatusGone {
		return ErrExpired
	}
	return failure(int(status.Code), raw)
}
