// Package quantity reads quantities whose exponent is bounded, see package exponent. It is pure.
//
//	q, err := quantity.Parse(text) // instead of resource.ParseQuantity
package quantity

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"skerry.dev/skerry/tunnel/exponent"
)

// Parse is resource.ParseQuantity for texts that others write. An absurd one is an error.
func Parse(text string) (resource.Quantity, error) {
	if exponent.Absurd(text) {
		return resource.Quantity{}, fmt.Errorf("%.40q has an exponent of more than %d digits", text, exponent.MaxDigits)
	}
	return resource.ParseQuantity(text)
}
