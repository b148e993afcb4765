// Package drive runs the built product the way a person would: it starts centers and agents as
// processes, runs kubectl and waits for what they show. The demo, the benchmark and the scenarios
// share it. It imports nothing of the product.
package drive
