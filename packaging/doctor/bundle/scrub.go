package bundle

import (
	"bytes"
	"regexp"
	"slices"
)

// Scrubber takes secrets out of text.
type Scrubber struct{ known [][]byte }

// removed stands for a secret.
const removed = "(removed)"

// shortest is the length of a known secret that is worth removing: a shorter one is in many words.
const shortest = 6

// NewScrubber returns one that knows these secrets, and what secrets look like.
func NewScrubber(known ...string) *Scrubber {
	s := &Scrubber{}
	for _, secret := range known {
		if secret = string(bytes.TrimSpace([]byte(secret))); len(secret) >= shortest {
			s.known = append(s.known, []byte(secret))
		}
	}
	// A longer secret first: a shorter one may be a part of it.
	slices.SortFunc(s.known, func(a, b []byte) int { return len(b) - len(a) })
	return s
}

// pattern is what a secret looks like in a line. Its first group stays.
type pattern struct {
	// words of which a line has one, in lower case: most lines have none, and looking for words is
	// cheap.
	words []string
	is    *regexp.Regexp
}

var patterns = []pattern{
	{[]string{"skt1."}, regexp.MustCompile(`(skt1\.[0-9a-f]{8}\.)[0-9a-f]{32}`)},                            // join tokens
	{[]string{"eyj"}, regexp.MustCompile(`()eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)}, // JWTs
	{[]string{"bearer ", "basic "}, regexp.MustCompile(`(?i)(bearer |basic )[A-Za-z0-9._~+/=-]{6,}`)},
	{[]string{"://"}, regexp.MustCompile(`(://[^\s/:@"']*:)[^\s/@"']+@`)}, // passwords in URLs
	{keys, regexp.MustCompile(
		`(?i)((?:password|passwd|secret|token|api-?key)(?:["']\s*:\s*["']?|\s*=\s*["']?))[^\s"',;&}]{6,}`)},
	{keys, regexp.MustCompile(`(?i)(^[\s-]*[a-z-]*(?:password|passwd|secret|token|key-data):\s+)[^\s(]\S*`)}, // YAML
}

var keys = []string{"passw", "secret", "token", "key"}

// pem is a private key, or what was cut off of one.
var pem = regexp.MustCompile(
	`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)

// Scrub returns the text without secrets.
func (s *Scrubber) Scrub(text []byte) []byte {
	for _, secret := range s.known {
		text = bytes.ReplaceAll(text, secret, []byte(removed))
	}
	if bytes.Contains(text, []byte("PRIVATE KEY-----")) {
		text = pem.ReplaceAll(text, []byte("${1}"+removed))
	}
	out := make([]byte, 0, len(text))
	for line := range bytes.Lines(text) {
		out = append(out, scrubLine(line)...)
	}
	return out
}

func scrubLine(line []byte) []byte {
	lower := bytes.ToLower(line)
	for _, p := range patterns {
		if slices.ContainsFunc(p.words, func(w string) bool { return bytes.Contains(lower, []byte(w)) }) {
			line = p.is.ReplaceAll(line, []byte("${1}"+removed))
		}
	}
	return line
}
