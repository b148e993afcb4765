// Package clip cuts texts that come from others, or that quote them, to a number of bytes. What is
// left is valid UTF-8: no character is cut in two.
//
//	report.Message = clip.Text(message, 1024)       // at most 1024 bytes
//	report.Message = clip.Dotted(err.Error(), 1024) // so many, and "..." where that is not all
package clip

import "strings"

// Text is the beginning of a text, without bytes that are no UTF-8.
func Text(s string, most int) string { return strings.ToValidUTF8(s[:min(len(s), most)], "") }

// Dotted is the beginning of a text with "..." after it, or all of one that is short enough, as it is.
func Dotted(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Text(s, most) + "..."
}
