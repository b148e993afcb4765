// Package quic is the tunnel's transport over QUIC: mutual TLS 1.3 on one UDP port, a handful of long-lived streams, small windows so that a
// center can hold thousands of connections. Agent's uplink dials, the center's door listens. It knows nothing of what the streams carry.
package quic
