// Package celbound refuses expressions in CEL that the cost limit of CEL does not stop. It is pure.
//
//	var b celbound.Bounds
//	err := b.Variable("names", "object.spec.names.map(n, n.name)") // of a policy, in order
//	err = b.Check("variables.names.join(', ')")                    // nil
//
// CEL charges a call after it was made, by what went into it. One call can therefore take all memory
// of the process, or an hour, and be charged then:
//
//	text.replace('a', text)          a text of 1 MiB becomes one of 1 TiB
//	lists.range(10000000000)         a list that fits nowhere
//	'%s%s'.format([text, text])      doubles a text for the price of five bytes, as often as it is nested
//	sets.contains(list, list)        compares each element with each other one
//	text.matches('(a{0,1000})...')   compiles to megabytes, as patterns of schemas do
//
// On a cluster those who write such expressions are its admins. Here they are the admins of one space
// of many, and a definition or a claim travels to the API servers and schedulers of sites.
//
// A *growth* is how many times as large as what an expression reads a value may be. Check computes it
// from the syntax alone, and refuses a call that may grow by more than maxGrowth. What CEL charges
// well, such as + of texts, counts as 1.
//
// [Costs] charges comparisons by all that is below the values, where CEL charges their top level.
package celbound
