package records

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sandlot.dev/runtime/internal/process"
)

const (
	// maxWrite bounds a line in the log of a container: a pipe takes so much as one piece, whatever else is written to it.
	maxWrite = 4 << 10
	// tagDomain keeps the tag apart from other hashes of the UID.
	tagDomain = "sandlot-log-v1\n"
	tagBytes  = 8
	cutMark   = " [cut]"
)

// Marker writes records into the log of the container, as lines that begin with a mark (docs/reference/runtime.md#records-in-the-log). Who
// reads the log recognises them by a tag, which programs whose output is what visitors send them do not know.
type Marker struct {
	// Out and Err are the log of the container. Err takes what a process prints to stderr.
	Out, Err io.Writer
	// UID returns that of the Sandbox in which this process is now. Empty: there is none, and only output is written, without a mark.
	UID func() string
}

// Start writes that a process has started, and returns what writes the rest.
func (m Marker) Start(pid int, spec process.Spec) process.Witness { return newWitness(m, pid, spec) }

func (m Marker) add(record Record) { m.Write(record) }

func (m Marker) addLine(record Record, line []byte) {
	record.Message = string(line)
	m.Write(record)
}

// Write writes a record with one call. A log that cannot be written to takes nothing, and that is nowhere to be said.
func (m Marker) Write(record Record) {
	out := m.Out
	if record.Event == EventStderr {
		out = m.Err
	}
	mark := ""
	if uid := m.UID(); uid != "" {
		mark = fmt.Sprintf("[process %d %s %s %s] ", record.Pid, record.Event, record.Level, tagOf(uid))
	} else if record.Event != EventStdout && record.Event != EventStderr {
		return
	}
	_, _ = out.Write(fit(mark, record.Message))
}

// tagOf returns the tag of a Sandbox. The API makes the same one.
func tagOf(uid string) string {
	sum := sha256.Sum256([]byte(tagDomain + uid))
	return hex.EncodeToString(sum[:tagBytes])
}

// fit returns the line, cut to what a pipe takes as one piece.
func fit(mark, message string) []byte {
	text := strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\n", " ")
	room := maxWrite - len(mark) - len("\n")
	if len(text) > room {
		end := room - len(cutMark)
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + cutMark
	}
	var line bytes.Buffer
	line.WriteString(mark)
	line.WriteString(text)
	line.WriteByte('\n')
	return line.Bytes()
}
