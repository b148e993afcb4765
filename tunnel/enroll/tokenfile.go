package enroll

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// tokenLimit bounds what is read of a file: a token has 110 bytes.
const tokenLimit = 4 << 10

// ReadToken returns the text of the token in a file, or in what stdin gives for the file "-". A
// file that is missing or empty gives "": a site that has joined needs no token.
func ReadToken(file string, stdin io.Reader) (string, error) {
	from := stdin
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		} else if err != nil {
			return "", fmt.Errorf("read the join token: %w", err)
		}
		defer f.Close()
		from = f
	}
	data, err := io.ReadAll(io.LimitReader(from, tokenLimit+1))
	if err != nil {
		return "", fmt.Errorf("read the join token from %s: %w", file, err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", nil
	}
	if _, err := ParseToken(text); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}
