package services

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"skerry.dev/skerry/tunnel/keyfile"
)

// The ports of this machine that stand for ports of Services.
const (
	firstPort = 17000
	lastPort  = 18999
)

// maxPorts bounds the file of ports, and with it what is read of a damaged disk.
const maxPorts = 1 << 20

// portKey is a port of a Service, by the UID that the Service has at the target.
type portKey struct {
	uid string
	doorKey
}

// ports are which port of this machine stands for which, in a file: what connects to one after a restart
// means the same Service.
type ports struct {
	path  string
	given map[portKey]uint16
	taken map[uint16]struct{}
	next  uint16
}

// openPorts reads a file. It is false where there is one that cannot be read: then nothing is given.
func openPorts(path string) (*ports, bool) {
	p := &ports{path, map[portKey]uint16{}, map[uint16]struct{}{}, firstPort}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, true
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(f, maxPorts+1))
		f.Close()
	}
	if err != nil || !p.decode(text) {
		clear(p.given)
		clear(p.taken)
		return p, false
	}
	return p, true
}

// decode takes over what a file says, and reports whether it can be meant.
func (p *ports) decode(text []byte) bool {
	var all map[string]map[string]uint16 // by UID, and by the number of the Service's port, or HOST/NUMBER
	if len(text) > maxPorts || json.Unmarshal(text, &all) != nil {
		return false
	}
	for uid, of := range all {
		for number, port := range of {
			host, text, has := strings.Cut(number, "/")
			if !has {
				host, text = "", number
			}
			n, err := strconv.ParseUint(text, 10, 16)
			k := portKey{uid, doorKey{host, uint16(n)}}
			_, again := p.given[k]
			_, twice := p.taken[port]
			if err != nil || twice || again || has && host == "" || port < firstPort || port > lastPort {
				return false
			}
			p.give(k, port)
		}
	}
	return true
}

func (p *ports) give(k portKey, port uint16) {
	p.given[k] = port
	p.taken[port] = struct{}{}
}

// write keeps what is given.
func (p *ports) write() error {
	all := map[string]map[string]uint16{}
	for k, port := range p.given {
		if all[k.uid] == nil {
			all[k.uid] = map[string]uint16{}
		}
		number := strconv.Itoa(int(k.port))
		if k.host != "" {
			number = k.host + "/" + number
		}
		all[k.uid][number] = port
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return keyfile.Replace(p.path, text)
}

// drop takes back what a Service has.
func (p *ports) drop(k portKey) {
	if port, given := p.given[k]; given {
		delete(p.given, k)
		delete(p.taken, port)
	}
}

// keep takes back what Services have whose UIDs are not among these, and reports whether any had something.
func (p *ports) keep(uids map[string]bool) (changed bool) {
	for k := range p.given {
		if !uids[k.uid] {
			p.drop(k)
			changed = true
		}
	}
	return changed
}

// mostPortsOfSpace bounds how many ports the Services of one space may have: the others get some, too.
const mostPortsOfSpace = (lastPort - firstPort + 1) / 2

var errNoShare = fmt.Errorf("the space has its share of the ports of this machine, %d, for its other Services; "+
	"let some answer only where they are (annotation skerry.dev/reach: Target)", mostPortsOfSpace)

// mostPortsOfImports bounds how many of them are of imports, which other spaces export, and of which nobody here has a
// choice.
const mostPortsOfImports = mostPortsOfSpace / 2

var errNoShareOfImports = fmt.Errorf("imports of the space have their share of the ports of this machine, %d; what "+
	"else the space has gets the rest", mostPortsOfImports)

var errNoPort = fmt.Errorf("all ports from %d to %d of this machine are taken", firstPort, lastPort)

// listen listens at the port that stands for one of a Service: the one that it had, or a free one.
func (p *ports) listen(ctx context.Context, at netip.Addr, k portKey) (net.Listener, uint16, error) {
	if port, had := p.given[k]; had {
		l, err := listen(ctx, at, port)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, port, err
		}
		p.drop(k) // somebody else has it now
	}
	for range lastPort - firstPort + 1 {
		port := p.next
		if p.next++; p.next > lastPort {
			p.next = firstPort
		}
		if _, taken := p.taken[port]; taken {
			continue
		}
		l, err := listen(ctx, at, port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err == nil {
			p.give(k, port)
		}
		return l, port, err
	}
	return nil, 0, errNoPort
}

func listen(ctx context.Context, at netip.Addr, port uint16) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", netip.AddrPortFrom(at, port).String())
}
