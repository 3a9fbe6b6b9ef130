package startup

import (
	"bytes"
	"io"
)

const (
	// maxLine bounds a line in the log of the container, which programs read line by line.
	maxLine = 8 << 10
	cutMark = " [cut]"
)

// lines copies output line by line, and of each line no more than maxLine bytes.
type lines struct {
	out  io.Writer
	line []byte
	// isCut means that the line has had more bytes.
	isCut bool
}

func (l *lines) add(data []byte) {
	for len(data) > 0 {
		part, rest, isWhole := bytes.Cut(data, []byte{'\n'})
		kept := min(len(part), maxLine-len(l.line))
		l.line = append(l.line, part[:kept]...)
		l.isCut = l.isCut || kept < len(part)
		if isWhole {
			l.flush()
		}
		data = rest
	}
}

// end writes a last line that has no end.
func (l *lines) end() {
	if len(l.line) > 0 {
		l.flush()
	}
}

// flush writes the line at once: other processes write to the same log.
func (l *lines) flush() {
	if l.isCut {
		l.line = append(l.line, cutMark...)
	}
	_, _ = l.out.Write(append(l.line, '\n'))
	l.line, l.isCut = l.line[:0], false
}
