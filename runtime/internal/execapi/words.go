package execapi

import (
	"errors"
	"strings"
)

var (
	errUnclosed = errors.New("the command has a quotation that is not closed")
	errNoWords  = errors.New("the command is empty")
)

// words splits a command like a shell: blanks separate words, quotes and backslashes protect. Nothing is expanded.
func words(line string) ([]string, error) {
	var found []string
	var word strings.Builder
	var quote rune
	escaped, within := false, false
	for _, c := range line {
		switch {
		case escaped:
			// In double quotes a backslash escapes only a quote and a backslash.
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, within = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, within = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if within {
				found = append(found, word.String())
				word.Reset()
			}
			within = false
		default:
			word.WriteRune(c)
			within = true
		}
	}
	if quote != 0 || escaped {
		return nil, errUnclosed
	}
	if within {
		found = append(found, word.String())
	}
	if len(found) == 0 {
		return nil, errNoWords
	}
	return found, nil
}
