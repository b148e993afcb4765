package destination

import (
	"strings"
	"time"
)

const (
	prefix   = "skerry-"
	suffix   = ".skerry"
	timeForm = "20060102T150405Z"
)

// Name is that of a backup: skerry-CENTER-20261125T023000Z.skerry.
type Name struct {
	// Center is the incarnation of the data, in hexadecimal.
	Center string
	// Made is when, in UTC, to the second.
	Made time.Time
}

// String returns the name of the file.
func (n Name) String() string {
	return prefix + n.Center + "-" + n.Made.UTC().Format(timeForm) + suffix
}

// ParseName is the inverse of String. It reports false for every other text.
func ParseName(text string) (n Name, ok bool) {
	rest, isOurs := strings.CutPrefix(text, prefix)
	rest, ends := strings.CutSuffix(rest, suffix)
	center, made, parts := strings.Cut(rest, "-")
	if !isOurs || !ends || !parts || center == "" || strings.Trim(center, "0123456789abcdef") != "" {
		return n, false
	}
	at, err := time.Parse(timeForm, made)
	n = Name{Center: center, Made: at}
	return n, err == nil && n.String() == text
}

// Stored is a backup that a destination has.
type Stored struct {
	Name
	// Size is in bytes.
	Size int64
}

func byTime(a, b Stored) int {
	if c := a.Made.Compare(b.Made); c != 0 {
		return c
	}
	return strings.Compare(a.Center, b.Center)
}
