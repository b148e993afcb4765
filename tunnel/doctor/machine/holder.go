package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is one of this machine. The zero value is one that is not known.
type Process struct {
	ID   int
	Name string
}

// String names it for people.
func (p Process) String() string {
	if p.ID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d (%s)", p.ID, p.Name)
}

// ProcessOf returns the process with an ID, the zero value if there is none that this one sees.
func ProcessOf(id int) Process {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", id))
	if err != nil {
		return Process{}
	}
	return Process{id, strings.TrimSpace(string(name))}
}

// LockHolder returns the process that has a file locked (flock).
func LockHolder(path string) Process {
	info, err := os.Stat(path)
	if err != nil {
		return Process{}
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Process{}
	}
	data, err := os.ReadFile("/proc/locks")
	if err != nil {
		return Process{}
	}
	// 1: FLOCK  ADVISORY  WRITE 708 08:02:1835 0 EOF
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) < 6 || words[1] != "FLOCK" {
			continue
		}
		_, inode, _ := strings.Cut(words[5], ":")
		_, inode, _ = strings.Cut(inode, ":")
		if id, err := strconv.Atoi(words[4]); err == nil && inode == strconv.FormatUint(stat.Ino, 10) {
			return ProcessOf(id)
		}
	}
	return Process{}
}

// PortHolder returns the process that listens on a port, for TCP ("tcp") or UDP ("udp"). It finds
// processes of other users for root alone.
func PortHolder(network string, port int) Process {
	for _, version := range []string{"", "6"} {
		for _, inode := range listeners("/proc/net/"+network+version, network == "tcp", port) {
			if p := socketHolder(inode); p.ID != 0 {
				return p
			}
		}
	}
	return Process{}
}

// tcpListen is the state of a listening socket in /proc/net/tcp.
const tcpListen = "0A"

// listeners returns the inodes of the sockets on a port.
func listeners(table string, tcp bool, port int) (inodes []string) {
	data, err := os.ReadFile(table)
	if err != nil {
		return nil
	}
	suffix := fmt.Sprintf(":%04X", port)
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) > 9 && strings.HasSuffix(words[1], suffix) && (!tcp || words[3] == tcpListen) {
			inodes = append(inodes, words[9])
		}
	}
	return inodes
}

func socketHolder(inode string) Process {
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return Process{}
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == "socket:["+inode+"]" {
			id, _ := strconv.Atoi(strings.Split(link, "/")[2])
			return ProcessOf(id)
		}
	}
	return Process{}
}
