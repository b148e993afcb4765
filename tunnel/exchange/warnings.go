package exchange

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"skerry.dev/skerry/store/clip"
)

// headerWarning is the header of an answer that says what its body lacks, in words for people. It
// may be there more than once; each value is escaped as in a query.
const headerWarning = "Skerry-Warning"

const (
	// maxWarnings is how many warnings an answer has.
	maxWarnings = 32
	// maxWarning is how long a warning is, in bytes.
	maxWarning = 512
)

// Warnings returns what an answer lacks, in words for people.
func Warnings(h http.Header) (texts []string) {
	for _, value := range h[headerWarning] {
		if text, err := readWarning(value); err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// SetWarnings has an answer say what it lacks. A text that is too long is cut. Of too many, the last
// one says how many more there were.
func SetWarnings(h http.Header, texts []string) {
	h.Del(headerWarning)
	if more := len(texts) - maxWarnings; more > 0 {
		texts = append(slices.Clone(texts[:maxWarnings-1]), fmt.Sprintf("%d further warnings are left out", more+1))
	}
	for _, text := range texts {
		h.Add(headerWarning, url.QueryEscape(plain(text)))
	}
}

// passWarnings copies the warnings of an answer. Its error wraps ErrAnswer.
func passWarnings(to, from http.Header) error {
	values := from[headerWarning]
	if len(values) > maxWarnings {
		return fmt.Errorf("%w: %d warnings, want %d at most", ErrAnswer, len(values), maxWarnings)
	}
	for _, value := range values {
		text, err := readWarning(value)
		if err != nil {
			return err
		}
		to.Add(headerWarning, url.QueryEscape(text))
	}
	return nil
}

func readWarning(value string) (string, error) {
	text, err := url.QueryUnescape(value)
	if err != nil || text == "" || plain(text) != text {
		return "", fmt.Errorf("%w: warning %.80q", ErrAnswer, value)
	}
	return text, nil
}

// plain returns a text of one line that is short enough, of characters that can be shown.
func plain(text string) string {
	text = strings.Map(func(c rune) rune {
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text)
	if len(text) > maxWarning {
		const dots = "..."
		text = clip.Text(text, maxWarning-len(dots)) + dots
	}
	return text
}
