package quic

import (
	"net"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// take is called for each datagram that is no QUIC packet, by the goroutine that reads the socket.
// It must not wait, and must not keep the datagram. What it returns is sent back to the sender.
type take func(datagram []byte, from net.Addr) (answer []byte)

// isQUIC reports whether a datagram is a QUIC packet: one of the first two bits is 1 (RFC 9443).
func isQUIC(datagram []byte) bool { return len(datagram) > 0 && datagram[0]&0xc0 != 0 }

// beside returns what QUIC uses instead of a socket, so that it neither sees nor is woken by other
// datagrams. heard is called for each QUIC packet; it may be nil.
func beside(packet net.PacketConn, t take, heard func()) net.PacketConn {
	if heard == nil {
		heard = func() {}
	}
	if udp, ok := packet.(*net.UDPConn); ok {
		return &socket{UDPConn: udp, packets: ipv4.NewPacketConn(udp), take: t, heard: heard}
	}
	return plain{packet, t, heard}
}

// socket is a kernel socket, from which quic-go reads many datagrams at a time.
type socket struct {
	*net.UDPConn
	packets *ipv4.PacketConn // it reads IPv6, too
	take    take
	heard   func()
}

// ReadBatch waits for datagrams and reads as many as there are. quic-go uses it if a socket has it.
func (s *socket) ReadBatch(ms []ipv4.Message, flags int) (int, error) {
	for {
		n, err := s.packets.ReadBatch(ms, flags)
		if err != nil {
			return n, err
		}
		if n = s.keep(ms[:n]); n > 0 {
			s.heard()
			return n, nil
		}
	}
}

// keep moves QUIC's packets to the front and returns how many they are. It moves their bytes,
// because the reader knows which buffer is whose.
func (s *socket) keep(ms []ipv4.Message) (kept int) {
	for i := range ms {
		m := &ms[i]
		datagram := m.Buffers[0][:m.N]
		if !isQUIC(datagram) {
			s.aside(datagram, m)
			continue
		}
		if to := &ms[kept]; to != m {
			to.N, to.NN, to.Flags, to.Addr = copy(to.Buffers[0], datagram), copy(to.OOB, m.OOB[:m.NN]), m.Flags, m.Addr
		}
		kept++
	}
	return kept
}

// aside handles a datagram and sends the answer. An answer that cannot be sent is lost like any
// other.
func (s *socket) aside(datagram []byte, m *ipv4.Message) {
	from, ok := m.Addr.(*net.UDPAddr)
	if !ok {
		return
	}
	if answer := s.take(datagram, from); answer != nil {
		_, _, _ = s.WriteMsgUDP(answer, fromWhereItCame(m.OOB[:m.NN]), from)
	}
}

// fromWhereItCame returns the control message that makes the kernel send an answer from the address
// that the question was sent to. A machine may have many. told is the control message of the
// question; the kernel gives it only for a socket that is not bound to one address.
func fromWhereItCame(told []byte) []byte {
	if len(told) == 0 {
		return nil
	}
	var v4 ipv4.ControlMessage
	if v4.Parse(told) == nil && v4.Dst != nil {
		return (&ipv4.ControlMessage{Src: v4.Dst, IfIndex: v4.IfIndex}).Marshal()
	}
	var v6 ipv6.ControlMessage
	if v6.Parse(told) == nil && v6.Dst != nil {
		return (&ipv6.ControlMessage{Src: v6.Dst, IfIndex: v6.IfIndex}).Marshal()
	}
	return nil
}

// plain is any other socket.
type plain struct {
	net.PacketConn
	take  take
	heard func()
}

// ReadFrom implements net.PacketConn.
func (p plain) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := p.PacketConn.ReadFrom(b)
		if err != nil {
			return n, from, err
		}
		if isQUIC(b[:n]) {
			p.heard()
			return n, from, nil
		}
		if answer := p.take(b[:n], from); answer != nil {
			_, _ = p.WriteTo(answer, from)
		}
	}
}
