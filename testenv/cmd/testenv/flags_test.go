package main

import (
	"slices"
	"strings"
	"testing"
)

func TestFlagsFirst(t *testing.T) {
	for given, want := range map[string]string{
		"testenv up alpha --kind real":                       "testenv up --kind real alpha",
		"testenv up alpha --kind=real --persist":             "testenv up --kind=real --persist alpha",
		"testenv net delay lab --host a --one-way 50ms":      "testenv net delay --host a --one-way lab 50ms",
		"testenv net exec lab a -- sh --kind x":              "testenv net exec lab a -- sh --kind x",
		"testenv down --all":                                 "testenv down --all",
		"testenv":                                            "testenv",
		"testenv nonsense --flag x":                          "testenv nonsense --flag x",
		"testenv stop alpha --part server --power-loss":      "testenv stop --part server --power-loss alpha",
		"testenv net cut lab --host a --link":                "testenv net cut --host a --link lab",
		"testenv net delay lab 50ms --jitter 5ms --one-way ": "testenv net delay --jitter 5ms --one-way lab 50ms",
	} {
		got := flagsFirst(app().Commands, strings.Fields(given))
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s\n got %s\nwant %s", given, strings.Join(got, " "), want)
		}
	}
}
