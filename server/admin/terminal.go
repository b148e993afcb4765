package admin

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// terminal is a screen that is drawn again and again. What it draws is cut to the screen.
type terminal struct {
	file *os.File
	text string // as it was drawn last
}

// terminalOf is the terminal that w is, nil if it is none.
func terminalOf(w io.Writer) *terminal {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &terminal{file: f}
}

// draw shows a text in place of the one before.
func (t *terminal) draw(text string) error {
	clear := ""
	if t.text == "" {
		clear = clearScreen
	}
	t.text = text
	return t.put(clear, text)
}

func (t *terminal) put(clear, text string) error {
	width, height, err := term.GetSize(int(t.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	_, err = t.file.WriteString(clear + home + shows(fit(text, width, height)) + clearBelow)
	return err
}

// The control sequences of ECMA-48 that every terminal knows.
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// fit brings a text on a screen, and clears what was behind the lines. Rows of a table are cut; sentences, which
// say last what to do, go on in the next line.
func fit(text string, width, height int) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, wrap(line, width)...)
	}
	if most := max(2, height-1); len(lines) > most {
		lines = append(lines[:most-1], fmt.Sprintf("... %d more lines", len(lines)-most+1))
	}
	var out strings.Builder
	for _, line := range lines {
		if utf8.RuneCountInString(line) > width {
			line = string([]rune(line)[:max(0, width-1)]) + "…"
		}
		out.WriteString(line + clearLine + "\n")
	}
	return out.String()
}

// columnGap is what is at least between two columns of a table.
const columnGap = "   "

// leastText is in how few columns a text is still broken.
const leastText = 12

// wrap breaks a line between words: a sentence, and the text behind one title. A row of a table with more
// columns stays as it is.
func wrap(line string, width int) []string {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if _, rest, titled := strings.Cut(text, columnGap); titled {
		text = strings.TrimLeft(rest, " ")
		indent = utf8.RuneCountInString(line) - utf8.RuneCountInString(text)
	}
	if utf8.RuneCountInString(line) <= width || strings.Contains(text, columnGap) || width-indent < leastText {
		return []string{line}
	}
	lines := broken(text, width-indent)
	head := line[:len(line)-len(text)]
	for i := range lines {
		lines[i], head = head+lines[i], strings.Repeat(" ", indent)
	}
	return lines
}

// broken are the lines of a text, at most so wide where its words are no longer.
func broken(text string, width int) (lines []string) {
	now := ""
	for word := range strings.FieldsSeq(text) {
		longer := strings.TrimPrefix(now+" "+word, " ")
		if now != "" && utf8.RuneCountInString(longer) > width {
			lines, longer = append(lines, now), word
		}
		now = longer
	}
	return append(lines, now)
}

// ascii stands for what a terminal shows that has no UTF-8, column for column.
var ascii = strings.NewReplacer("├─", "|-", "└─", "`-", "│", "|", "…", ">")

// shows returns a text as the locale of the caller can show it. Without a locale it is UTF-8, as everywhere
// that commands run without people.
func shows(text string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(os.Getenv(name)); locale != "" {
			if strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8") {
				return text
			}
			return ascii.Replace(text)
		}
	}
	return text
}

// localized is a writer of texts that shows returns.
type localized struct{ io.Writer }

// Write implements io.Writer.
func (w localized) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, shows(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// below adds a line to what was drawn last.
func (t *terminal) below(line string) {
	_ = t.put("", strings.TrimRight(t.text, "\n")+"\n"+line+"\n") // a screen that is gone says it itself
}

// close leaves the cursor below what was drawn.
func (t *terminal) close() { fmt.Fprintln(t.file) }
