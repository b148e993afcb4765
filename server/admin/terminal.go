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
	_, err = t.file.WriteString(clear + home + fit(text, width, height) + clearBelow)
	return err
}

// The control sequences of ECMA-48 that every terminal knows.
const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// fit cuts a text to a screen, and clears what was behind the lines.
func fit(text string, width, height int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
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

// below adds a line to what was drawn last.
func (t *terminal) below(line string) {
	_ = t.put("", strings.TrimRight(t.text, "\n")+"\n"+line+"\n") // a screen that is gone says it itself
}

// close leaves the cursor below what was drawn.
func (t *terminal) close() { fmt.Fprintln(t.file) }
