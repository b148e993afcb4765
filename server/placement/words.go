package placement

// maxWords is how many characters of a message a status has room for.
const maxWords = 600

// Words are those of a message that there is room for. The command that mends it stands at its end, so a
// long one is cut in the middle.
func Words(text string) string {
	if runes := []rune(text); len(runes) > maxWords {
		return string(runes[:maxWords/2]) + " ... " + string(runes[len(runes)-maxWords/2:])
	}
	return text
}
