package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity names one process for ever: a process id alone is used again by the
// kernel, but not with the same start time in the same boot.
type Identity struct {
	PID int `json:"pid"`
	// Start is the process's start time in clock ticks since boot, field 22 of
	// /proc/PID/stat (proc_pid_stat(5)).
	Start uint64 `json:"start"`
	// Boot is /proc/sys/kernel/random/boot_id.
	Boot string `json:"boot"`
}

// Self returns the identity of the calling process as the mounted /proc sees
// it. A process that was just cloned into a new pid namespace and has not
// mounted a /proc of its own learns its outer process id.
func Self() (Identity, error) {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return Identity{}, err
	}
	pid, err := strconv.Atoi(link)
	if err != nil {
		return Identity{}, fmt.Errorf("read /proc/self: %w", err)
	}
	return identify(pid)
}

func identify(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, err
	}
	_, start, err := parseStat(stat)
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// Alive says whether this very process exists and has not ended. A zombie has
// ended.
func (id Identity) Alive() bool {
	now, err := identify(id.PID)
	if err != nil || now != id {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id.PID))
	if err != nil {
		return false
	}
	state, _, err := parseStat(stat)
	return err == nil && state != 'Z' && state != 'X'
}

// parseStat returns the state letter and the start time of a /proc/PID/stat.
// The second field, the command in parentheses, may itself hold spaces and
// parentheses, so fields count from its last one.
func parseStat(stat []byte) (state byte, start uint64, err error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("stat %q: no command", stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	const startField = 22 - 3 // counted from the state, which is field 3
	if len(fields) <= startField {
		return 0, 0, fmt.Errorf("stat %q: too few fields", stat)
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	return fields[0][0], start, err
}
