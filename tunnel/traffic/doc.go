// Package traffic counts what crosses the links of one side, by direction and purpose: exact at the wire, so that all purposes together
// are the payload of the UDP datagrams (or of the TCP connection) that the transport counted. The tunnel and delta count into a Meter;
// agent and server register it with Prometheus. It decides nothing.
package traffic
