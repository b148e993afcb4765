// Package output writes what commands show to programs, and what they say when that cannot be written.
//
//	printed, err := output.Print(w, "yaml", report) // false for a format of the command's own
//	err = output.Full(err, "-o")                    // of a file that the user named with -o
package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"sigs.k8s.io/yaml"
)

// Print writes data as JSON or YAML. It reports false, and writes nothing, for every other format.
func Print(w io.Writer, format string, data any) (printed bool, err error) {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "    ")
		return true, e.Encode(data)
	case "yaml":
		text, err := yaml.Marshal(data)
		if err == nil {
			_, err = w.Write(text)
		}
		return true, err
	}
	return false, nil
}

// Full adds to the error of a disk that is full what to do. flag names the file.
func Full(err error, flag string) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w; make space there, or name a file on another disk with %s", err, flag)
	}
	return err
}
