package exponent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// candidate finds numbers with long exponents, and what may be parts of one in JSON or YAML.
var candidate = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{4}|\\(u00|U000000|x)(3[0-9]|2[bdeBDE]|[46]5)`)

// Candidate reports whether a body has a number with a long exponent anywhere. It takes some
// microseconds, and few bodies have one.
func Candidate(body []byte) bool { return candidate.Match(body) }

// Find returns the first field of a JSON document that has an absurd quantity. Labels, annotations and
// data are texts, whatever they look like. A document that is no JSON has none.
func Find(body []byte) string {
	if !Candidate(body) || !json.Valid(body) { // which bounds how deep it is
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return tokens(d, "", false)
}

// FindIn is Find for a value that is to stand at a JSON pointer, as in a patch. in says whether that
// is in a field with quantities.
func FindIn(pointer string, value json.RawMessage) (found string, in bool) {
	at := ""
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if texts[part] {
			return "", false
		}
		in = in || holds(at, part)
		at += "." + part
	}
	if len(value) == 0 {
		return "", in
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	return tokens(d, at, in), in
}

// tokens returns the first absurd quantity in the value that comes next. in says that a field above has
// quantities. A field that stands there twice is decoded twice by others, so that both count.
func tokens(d *json.Decoder, at string, in bool) string {
	t, err := d.Token()
	if err != nil {
		return ""
	}
	switch t {
	case json.Delim('{'):
		for d.More() {
			t, err := d.Token()
			k, ok := t.(string)
			if err != nil || !ok {
				return ""
			}
			if texts[k] {
				var skipped json.RawMessage
				if d.Decode(&skipped) != nil {
					return ""
				}
				continue
			}
			if found := tokens(d, at+"."+k, in || holds(at, k)); found != "" {
				return found
			}
		}
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if found := tokens(d, fmt.Sprintf("%s[%d]", at, i), in); found != "" {
				return found
			}
		}
	default:
		if in && t != nil && Absurd(fmt.Sprint(t)) {
			return strings.TrimPrefix(at, ".")
		}
		return ""
	}
	_, _ = d.Token() // the end of it
	return ""
}

// holds reports whether a field has quantities in it. value is that of a metric.
func holds(at, field string) bool {
	return Holds(field) ||
		field == "value" && (strings.HasSuffix(at, ".target") || strings.HasSuffix(at, ".current"))
}

// texts are fields whose values are no quantities, whatever they look like.
var texts = map[string]bool{
	"labels": true, "annotations": true, "data": true, "stringData": true, "binaryData": true, "matchLabels": true,
	"managedFields": true,
}
