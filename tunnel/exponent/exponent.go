// Package exponent finds quantities with which Kubernetes would compute for hours. It is pure.
//
// Kubernetes parses "1e999999999" at once, and writes the number out for each comparison and each sum.
// So what users and sites write is looked at before it is decoded.
//
//	exponent.Absurd("1e9999")       // true
//	exponent.Holds("limits")        // true: a field of this name has quantities in it, or is one
//	field := exponent.Find(body)    // the first such field with an absurd quantity, "" for none
package exponent

// MaxDigits is how many digits the exponent of a quantity may have. 10^18 is the largest amount that
// Kubernetes keeps exactly.
const MaxDigits = 3

// Absurd reports whether a text is a number with an exponent of more digits than that, and nothing
// else.
func Absurd(text string) bool {
	i := 0
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	begin := i
	for i < len(text) && (digit(text[i]) || text[i] == '.') {
		i++
	}
	if i == begin || i == len(text) || text[i] != 'e' && text[i] != 'E' {
		return false
	}
	if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
		i++
	}
	if len(text)-i <= MaxDigits {
		return false
	}
	for ; i < len(text); i++ {
		if !digit(text[i]) {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// fields are the names of fields with quantities, as Kubernetes and many custom resources have them.
var fields = map[string]bool{
	"requests": true, "limits": true, "capacity": true, "allocatable": true, "hard": true, "used": true,
	"podFixed": true, "min": true, "max": true, "default": true, "defaultRequest": true,
	"maxLimitRequestRatio": true, "allocatedResources": true, "sizeLimit": true, "divisor": true,
	"averageValue": true, "targetAverageValue": true, "currentAverageValue": true, "targetValue": true,
	"tolerance": true, "maximumVolumeSize": true, "resources": true,
	"cpu": true, "memory": true, "storage": true, "size": true, "quantity": true, "amount": true,
}

// Holds reports whether a field of this name has quantities in it, or is one.
func Holds(field string) bool { return fields[field] }
