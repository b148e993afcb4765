// Package otlp is a collector of traces for tests. It takes OTLP over gRPC, as much of both as an
// exporter of OpenTelemetry uses, and hands over each span:
//
//	err := otlp.Serve(ctx, listener, func(s otlp.Span) { fmt.Println(s) })
package otlp

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sort"
	"strings"
	"time"
)

// Span is a span as it was exported.
type Span struct {
	Trace, ID, Parent, Name string // the IDs in hex
	// Resource says whose it is, Attributes what it is about: the strings of both.
	Resource, Attributes map[string]string
}

// String is the span in one line: trace, ID, parent ("-" for none), service, instance, name, then
// attributes in order.
func (s Span) String() string {
	parent := s.Parent
	if parent == "" {
		parent = "-"
	}
	line := []string{"trace=" + s.Trace, "id=" + s.ID, "parent=" + parent,
		s.Resource["service.name"] + "/" + s.Resource["service.instance.id"], fmt.Sprintf("%q", s.Name)}
	var keys []string
	for k := range s.Attributes {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		line = append(line, k+"="+s.Attributes[k])
	}
	return strings.Join(line, " ")
}

// maxMessage bounds what is read of one export.
const maxMessage = 16 << 20

// exportPath is the method of gRPC.
const exportPath = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

// Serve takes exports until ctx ends. got is called for one span after another.
func Serve(ctx context.Context, l net.Listener, got func(Span)) error {
	turn := make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+exportPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		spans, err := export(r.Body)
		if err != nil {
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "3")
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", err.Error())
			return
		}
		turn <- struct{}{}
		for _, s := range spans {
			got(s)
		}
		<-turn
		w.Write(make([]byte, 5)) //nolint:errcheck // the exporter may be gone; an empty message
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve OTLP: %w", err)
	}
	return nil
}

// export reads the one message of a request.
func export(body io.Reader) ([]Span, error) {
	var head [5]byte // compressed or not, length
	if _, err := io.ReadFull(body, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if head[0] != 0 || n > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes, compressed %d", n, head[0])
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, err
	}
	return Decode(data)
}

// Decode reads an ExportTraceServiceRequest.
func Decode(data []byte) (spans []Span, err error) {
	err = each(data, func(field int, resourceSpans []byte) error {
		if field != 1 {
			return nil
		}
		resource := map[string]string{}
		return each(resourceSpans, func(field int, v []byte) error {
			switch field {
			case 1: // the resource, which comes first
				return attributes(v, 1, resource)
			case 2: // the spans of a scope
				return each(v, func(field int, v []byte) error {
					if field != 2 {
						return nil
					}
					s, err := span(v)
					s.Resource = resource
					spans = append(spans, s)
					return err
				})
			}
			return nil
		})
	})
	return spans, err
}

func span(data []byte) (Span, error) {
	s := Span{Attributes: map[string]string{}}
	err := each(data, func(field int, v []byte) error {
		switch field {
		case 1:
			s.Trace = hex.EncodeToString(v)
		case 2:
			s.ID = hex.EncodeToString(v)
		case 4:
			s.Parent = hex.EncodeToString(v)
		case 5:
			s.Name = string(v)
		}
		return nil
	})
	return s, errors.Join(err, attributes(data, 9, s.Attributes))
}

// attributes reads those key values of a message whose values are strings.
func attributes(data []byte, in int, into map[string]string) error {
	return each(data, func(field int, pair []byte) error {
		if field != in {
			return nil
		}
		key := ""
		return each(pair, func(field int, v []byte) error {
			if field == 1 {
				key = string(v)
				return nil
			}
			return each(v, func(field int, v []byte) error {
				if field == 1 {
					into[key] = string(v)
				}
				return nil
			})
		})
	})
}

var errCut = errors.New("a message is cut off")

// each visits the fields of a message that have a length; it skips numbers.
func each(data []byte, visit func(field int, v []byte) error) error {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return errCut
		}
		data = data[n:]
		size := uint64(0)
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(data); n <= 0 {
				return errCut
			}
			data = data[n:]
			continue
		case 1:
			size = 8
		case 2:
			if size, n = binary.Uvarint(data); n <= 0 {
				return errCut
			}
			data = data[n:]
		case 5:
			size = 4
		default:
			return fmt.Errorf("wire type %d", tag&7)
		}
		if size > uint64(len(data)) {
			return errCut
		}
		if tag&7 == 2 {
			if err := visit(int(tag>>3), data[:size]); err != nil {
				return err
			}
		}
		data = data[size:]
	}
	return nil
}
