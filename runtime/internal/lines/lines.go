// Package lines divides what a process prints into lines of a bounded length.
package lines

import "bytes"

const cutMark = " [cut]"

// Cutter calls Emit for each line, with no more than Max bytes of it. The line is only valid during the call.
type Cutter struct {
	Max  int
	Emit func(line []byte)

	line []byte
	// isCut means that the line has had more bytes.
	isCut bool
}

// Add takes the next bytes of the output.
func (c *Cutter) Add(data []byte) {
	for len(data) > 0 {
		part, rest, isWhole := bytes.Cut(data, []byte{'\n'})
		kept := min(len(part), c.Max-len(c.line))
		c.line = append(c.line, part[:kept]...)
		c.isCut = c.isCut || kept < len(part)
		if isWhole {
			c.flush()
		}
		data = rest
	}
}

// End emits a last line that has no end.
func (c *Cutter) End() {
	if len(c.line) > 0 {
		c.flush()
	}
}

func (c *Cutter) flush() {
	if c.isCut {
		c.line = append(c.line, cutMark...)
	}
	c.Emit(c.line)
	c.line, c.isCut = c.line[:0], false
}
