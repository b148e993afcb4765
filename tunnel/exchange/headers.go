package exchange

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// The protocols that a connection may be upgraded to.
const (
	webSocket = "websocket"
	spdy      = "SPDY/3.1"
	rawBytes  = "skerry-bytes"
)

// The headers of an upgrade.
const (
	headerConnection = "Connection"
	headerUpgrade    = "Upgrade"
	headerKey        = "Sec-Websocket-Key"
	headerVersion    = "Sec-Websocket-Version"
	headerProtocol   = "Sec-Websocket-Protocol"
	headerAccept     = "Sec-Websocket-Accept"
	headerStream     = "X-Stream-Protocol-Version"
)

// HeaderSite is the header of an answer that names the targets below the receiver's child that the
// answer came through, with slashes between them.
const HeaderSite = "Skerry-Site"

// HeaderReady is the header of an answer that says how many Pods of a Service are ready at the site that has
// connected to one.
const HeaderReady = "Skerry-Ready"

// mostReady bounds that number.
const mostReady = 10_000

// ReadyIn is the number of ready Pods that an answer says, 0 where it says none.
func ReadyIn(h http.Header) int {
	n, err := strconv.Atoi(h.Get(HeaderReady))
	if err != nil || n < 0 {
		return 0
	}
	return min(n, mostReady)
}

// protocols are the subprotocols that Kubernetes speaks over an upgraded connection. Whatever else
// a client offers, such as a bearer token in the place of a subprotocol, does not pass.
var protocols = []string{
	"v5.channel.k8s.io", "v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io",
	"v4.base64.channel.k8s.io", "base64.channel.k8s.io",
	"SPDY/3.1+portforward.k8s.io", "portforward.k8s.io",
}

func isUpgrade(key string) bool {
	switch key {
	case headerConnection, headerUpgrade, headerKey, headerVersion, headerProtocol, headerStream:
		return true
	}
	return false
}

// IsUpgrade reports whether a client asks for its connection to be upgraded, to whatever protocol.
func IsUpgrade(h http.Header) bool {
	return slices.ContainsFunc(
		tokens(h[headerConnection]),
		func(t string) bool { return strings.EqualFold(t, "upgrade") },
	)
}

// Upgrade returns what passes of the headers of a client that asks for an upgrade: to WebSocket or
// to SPDY, with the subprotocols of Kubernetes. Its error wraps ErrRequest.
func Upgrade(h http.Header) (http.Header, error) {
	if !IsUpgrade(h) || len(h[headerUpgrade]) != 1 {
		return nil, fmt.Errorf("%w: it asks for no upgrade", ErrRequest)
	}
	out := http.Header{headerConnection: {"Upgrade"}}
	switch to := h[headerUpgrade][0]; {
	case strings.EqualFold(to, webSocket):
		key := h.Get(headerKey)
		if nonce, err := base64.StdEncoding.DecodeString(key); err != nil || len(nonce) != 16 ||
			len(h[headerKey]) != 1 {
			return nil, fmt.Errorf("%w: %s is no key of a WebSocket", ErrRequest, headerKey)
		}
		if h.Get(headerVersion) != "13" {
			return nil, fmt.Errorf(
				"%w: WebSocket version %.20q, want 13",
				ErrRequest,
				h.Get(headerVersion),
			)
		}
		out[headerUpgrade], out[headerKey], out[headerVersion] = []string{
			webSocket,
		}, []string{
			key,
		}, []string{
			"13",
		}
		if offered := known(h[headerProtocol]); len(offered) > 0 {
			out[headerProtocol] = []string{strings.Join(offered, ", ")}
		}
	case strings.EqualFold(to, spdy):
		out[headerUpgrade] = []string{spdy}
		if offered := known(h[headerStream]); len(offered) > 0 {
			out[headerStream] = offered
		}
	case to == rawBytes:
		out[headerUpgrade] = []string{rawBytes}
	default:
		return nil, fmt.Errorf("%w: upgrade to %.40q; WebSocket and SPDY/3.1 pass", ErrRequest, to)
	}
	return out, nil
}

// Bytes returns the headers of the upgrade that goes with Connect: bytes without any framing.
func Bytes() http.Header {
	return http.Header{headerConnection: {"Upgrade"}, headerUpgrade: {rawBytes}}
}

func isBytes(h http.Header) bool { return h.Get(headerUpgrade) == rawBytes }

// SPDY returns the headers of an upgrade to SPDY with one of the subprotocols of Kubernetes.
func SPDY(subprotocol string) http.Header {
	return http.Header{
		headerConnection: {"Upgrade"}, headerUpgrade: {spdy}, headerStream: {subprotocol},
	}
}

// IsWebSocket reports whether the headers that Upgrade returned ask for a WebSocket.
func IsWebSocket(h http.Header) bool { return h.Get(headerUpgrade) == webSocket }

func known(values []string) []string {
	return slices.DeleteFunc(
		tokens(values),
		func(p string) bool { return !slices.Contains(protocols, p) },
	)
}

func tokens(values []string) (out []string) {
	for _, v := range values {
		for t := range strings.SplitSeq(v, ",") {
			if t = textproto.TrimString(t); t != "" {
				out = append(out, t)
			}
		}
	}
	return out
}

// passing returns what passes of the headers of an answer. Asked are the headers of the upgrade
// that was asked for, nil for none. Its error wraps ErrAnswer.
func passing(asked http.Header, code int, h http.Header) (http.Header, error) {
	if code < 200 && code != http.StatusSwitchingProtocols || code >= 300 && code < 400 ||
		code > 599 {
		return nil, fmt.Errorf("%w: status %d", ErrAnswer, code)
	}
	out := http.Header{}
	if site := h.Get(HeaderSite); site != "" {
		for _, part := range strings.Split(site, "/") {
			if !isName(part) {
				return nil, fmt.Errorf("%w: it comes from %.80q", ErrAnswer, site)
			}
		}
		out.Set(HeaderSite, site)
	}
	if n := ReadyIn(h); n > 0 {
		out.Set(HeaderReady, strconv.Itoa(n))
	}
	if trace := h.Get(HeaderTrace); len(trace) <= mostTraced && isLine(trace) && trace != "" {
		out.Set(HeaderTrace, trace)
	}
	if code != http.StatusSwitchingProtocols {
		if err := passWarnings(out, h); err != nil {
			return nil, err
		}
		for _, key := range []string{"Content-Type", "Retry-After"} {
			if v := h.Get(key); v != "" {
				out.Set(key, v)
			}
		}
		return out, nil
	}
	to := asked.Get(headerUpgrade)
	if to == "" || !IsUpgrade(h) || len(h[headerUpgrade]) != 1 ||
		!strings.EqualFold(h[headerUpgrade][0], to) {
		return nil, fmt.Errorf(
			"%w: it upgrades to %.40q, which was not asked for",
			ErrAnswer,
			h.Get(headerUpgrade),
		)
	}
	out[headerConnection], out[headerUpgrade] = []string{"Upgrade"}, []string{to}
	for key, offer := range map[string]string{headerProtocol: headerProtocol, headerStream: headerStream} {
		chosen := tokens(h[key])
		if len(chosen) == 0 {
			continue
		}
		if len(chosen) != 1 || !slices.Contains(tokens(asked[offer]), chosen[0]) {
			return nil, fmt.Errorf(
				"%w: it chose %.80q, which was not offered",
				ErrAnswer,
				strings.Join(chosen, ", "),
			)
		}
		out[key] = chosen
	}
	if v := h.Get(headerAccept); v != "" && to == webSocket {
		out[headerAccept] = []string{v}
	}
	return out, nil
}
