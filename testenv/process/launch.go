package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// LaunchCommand is the first argument that makes the testenv binary call
// [Launch].
const LaunchCommand = "launch"

// Launch turns the calling process into another program: args are the record
// to write, the network namespace to enter or "", and the program with its
// arguments. It returns only with an error.
//
// The record is written by the process itself before it becomes the program,
// so there is no moment in which the program runs and is not on record, even if
// whoever started it is killed. When the record's directory is gone the cluster
// has been taken down meanwhile, and the program does not start.
func Launch(args []string) error {
	if len(args) < 3 {
		return errors.New("launch: want RECORD NETNS PROGRAM [ARGUMENT...]")
	}
	record, netns, argv := args[0], args[1], args[2:]
	id, err := Self()
	if err != nil {
		return err
	}
	if err := writeRecord(record, Record{Identity: id, Args: argv}); err != nil {
		return err
	}
	return Become(netns, argv)
}

// Become turns the calling process into another program, in the network
// namespace of a file unless that is "". It returns only with an error.
func Become(netns string, argv []string) error {
	program, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	// The new program inherits the namespaces of the thread that calls exec.
	runtime.LockOSThread()
	if netns != "" {
		if err := enterNet(netns); err != nil {
			return fmt.Errorf("enter %s: %w", netns, err)
		}
	}
	return fmt.Errorf("exec %s: %w", program, syscall.Exec(program, argv, os.Environ()))
}

func enterNet(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
}

// Record is what is known of a started process.
type Record struct {
	Identity
	Args []string `json:"args"`
}

func writeRecord(path string, r Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A reader sees all of the record or none of it.
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func readRecord(path string) (Record, error) {
	var r Record
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return r, nil
}
