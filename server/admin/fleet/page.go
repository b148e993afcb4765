package fleet

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Page is what people see of a snapshot.
type Page struct {
	// Head are the titles of the columns of Rows, none where they have none.
	Head []string
	Rows []Row
	// Notes stand below the rows.
	Notes []Row
}

// Row is one line, or a note of several.
type Row struct {
	// Key is the same for the same row of another page.
	Key   string
	Cells []string
}

// OneLine is a text that a site or a tenant has written, in one line, without what a terminal would
// obey.
func OneLine(text string) string {
	return Printable(strings.ReplaceAll(text, "\n", " "))
}

// Printable leaves out of a text that a site or a tenant has written what a terminal would obey:
// control characters, but for the ends of lines, and what turns the direction of writing.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

func note(key, text string) Row { return Row{Key: key, Cells: []string{text}} }

// Print writes a page, its columns aligned.
func (p Page) Print(w io.Writer) error {
	var columns strings.Builder
	t := tabwriter.NewWriter(&columns, 0, 8, 3, ' ', 0)
	if len(p.Head) > 0 {
		fmt.Fprintln(t, strings.Join(p.Head, "\t"))
	}
	for _, r := range p.Rows {
		if p.isLine(r) {
			continue // it would end the columns above it
		}
		cells := make([]string, len(r.Cells))
		for i, cell := range r.Cells {
			cells[i] = strings.ReplaceAll(Printable(cell), "\n", " ")
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	lines := strings.SplitAfter(columns.String(), "\n")
	var out strings.Builder
	if len(p.Head) > 0 {
		out.WriteString(lines[0])
		lines = lines[1:]
	}
	for _, r := range p.Rows {
		if p.isLine(r) {
			fmt.Fprintln(&out, Printable(r.Cells[0]))
			continue
		}
		out.WriteString(lines[0])
		lines = lines[1:]
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return err
	}
	for _, r := range p.Notes {
		if _, err := fmt.Fprintln(w, Printable(strings.Join(r.Cells, "   "))); err != nil {
			return err
		}
	}
	return nil
}

// isLine reports whether a row of a table is one text across all columns.
func (p Page) isLine(r Row) bool { return len(p.Head) != 1 && len(r.Cells) == 1 }

// Changes are the lines for what a page says that the one before did not say, and for what it says
// no more. Each is one line.
func (p Page) Changes(before Page) (lines []string) {
	was := before.texts()
	is := p.texts()
	for _, r := range p.all() {
		if text := is[r.Key]; text != was[r.Key] {
			lines = append(lines, text)
		}
	}
	for _, r := range before.all() {
		if _, still := is[r.Key]; !still {
			lines = append(lines, "over: "+was[r.Key])
		}
	}
	return lines
}

func (p Page) all() []Row { return append(p.Rows[:len(p.Rows):len(p.Rows)], p.Notes...) }

func (p Page) texts() map[string]string {
	out := map[string]string{}
	for _, r := range p.all() {
		lines := strings.Split(Printable(strings.Join(r.Cells, "  ")), "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		out[r.Key] = strings.Join(lines, " ")
	}
	return out
}
