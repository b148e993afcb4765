package amounts

import (
	"regexp"

	"skerry.dev/skerry/tunnel/exponent"
)

// number finds numbers with long exponents.
var number = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{4}`)

// quantityTag begins the text of a Quantity in protobuf: field 1, with a length behind it.
const quantityTag = 0x0a

// inProtobuf finds the texts of quantities by their form: a tag, a length, and a number of that
// length. An object that is named like a number with an exponent is taken for one, too.
func inProtobuf(body []byte) string {
	for _, found := range number.FindAllIndex(body, -1) {
		begin := found[0]
		for begin > 0 && numeric(body[begin-1]) {
			begin--
		}
		if begin < 2 {
			continue
		}
		// A length that looks like a digit was taken for one.
		for ; begin <= found[0]; begin++ {
			end := begin + int(body[begin-1])
			if body[begin-2] == quantityTag && end <= len(body) && exponent.Absurd(string(body[begin:end])) {
				return string(body[begin:min(end, begin+40)])
			}
		}
	}
	return ""
}

func numeric(c byte) bool { return c >= '0' && c <= '9' || c == '.' || c == '+' || c == '-' }
