// Package sweep finds what this site's agent has on its target when the agent's own file does not know it: after the file was lost, or
// after an end without a farewell. It lists every kind for the mark of this site, metadata only and page by page, and hands on what it sees.
// It reads and decides nothing: what it finds goes into the inventory and, without a value, into the desired copy, so that the parent
// is asked at the next comparison and alone says what is removed. It is imported by agent.go's package alone.
package sweep
