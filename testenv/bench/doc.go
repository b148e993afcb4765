// Package bench measures the built product between real API servers, which store durably, and
// prints one JSON line a figure: a median or percentile, beside a floor taken in the same run where
// there is one. The floor is a small program that watches one API and applies to the other. It
// imports nothing of the product.
package bench
