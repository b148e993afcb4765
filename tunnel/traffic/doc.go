// Package traffic counts what crosses the links of one side, by direction and purpose.
//
// Its nouns are the [Meter], the [Purpose] (control, positions, desired, the classes of reports)
// and the [Link], a connection whose bytes are known.
//
//	m := traffic.New()
//	m.Open(link)              // a session begins
//	m.Ended(link, "replaced") // and ends
//	err := registry.Part("agent").Register(m)
//
// Counts are exact at the wire. All purposes together are the payload of the UDP datagrams, or of
// the TCP connection, that the transport counted. It only counts: budgets are enforced elsewhere.
package traffic
