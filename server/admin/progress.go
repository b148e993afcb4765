package admin

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"skerry.dev/skerry/server/admin/fleet"
)

// Progress says on standard error what a long command does now: on a terminal in one line that is
// written again, elsewhere in a line for each step. A nil Progress says nothing.
type Progress struct {
	out   io.Writer
	width int           // of the terminal, 0 where it is none
	every time.Duration // Count writes at most that often

	mu      sync.Mutex
	last    string    // what was written last
	counted time.Time // when Count wrote last
}

const (
	countOnTerminal = 100 * time.Millisecond
	countElsewhere  = 10 * time.Second
)

// QuietFlag is --quiet of a command that has a Progress.
func QuietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"},
		Usage: "do not say on standard error how far it is"}
}

// NewProgress is the Progress of a command, nil with --quiet.
func NewProgress(c *cli.Context) *Progress {
	if c.Bool("quiet") {
		return nil
	}
	p := &Progress{out: c.App.ErrWriter, every: countElsewhere}
	if t := terminalOf(p.out); t != nil {
		p.every, p.width = countOnTerminal, 80
		if width, _, err := term.GetSize(int(t.file.Fd())); err == nil && width > 0 {
			p.width = width
		}
	}
	return p
}

// Step says what is done now. The same twice is said once.
func (p *Progress) Step(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeLocked(fmt.Sprintf(format, args...))
}

// Count says how many of total things are done, now and then.
func (p *Progress) Count(what string, done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.counted) < p.every {
		return
	}
	p.counted = now
	if total > 0 {
		p.writeLocked(fmt.Sprintf("%s: %d of %d (%d %%)", what, done, total, done*100/total))
		return
	}
	p.writeLocked(fmt.Sprintf("%s: %d", what, done))
}

func (p *Progress) writeLocked(text string) {
	text = fleet.OneLine(text)
	if text == p.last {
		return
	}
	p.last = text
	if p.width == 0 {
		fmt.Fprintln(p.out, text)
		return
	}
	if runes := []rune(text); len(runes) >= p.width {
		text = string(runes[:max(0, p.width-2)]) + "…"
	}
	fmt.Fprint(p.out, "\r"+shows(text)+clearLine)
}

// Done removes the line from a terminal, for what is printed next.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 && p.last != "" {
		fmt.Fprint(p.out, "\r"+clearLine)
	}
	p.last = ""
}
