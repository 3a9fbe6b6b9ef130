package inject

import (
	"net/url"
	"slices"
	"strings"

	"sandlot.dev/egress/internal/rules"
)

// Refusal says why a rule does not let a request through. Empty means that it does.
type Refusal string

const (
	// Method says that the rule has not this method.
	Method Refusal = "method"
	// Path says that the rule has not this path.
	Path Refusal = "path"
	// Ambiguous says that servers may read the path in different ways.
	Ambiguous Refusal = "ambiguous_path"
)

// Match says whether the rule lets a request with this method and target through. Requests to trace are the business of no rule: their
// answer repeats what was sent.
func Match(rule *rules.Rule, method string, target *url.URL) Refusal {
	if method == "TRACE" || method == "TRACK" || len(rule.Methods) > 0 && !slices.Contains(rule.Methods, method) {
		return Method
	}
	if len(rule.Paths) == 0 {
		return ""
	}
	path := target.EscapedPath()
	if isAmbiguous(path) {
		return Ambiguous
	}
	if !slices.ContainsFunc(rule.Paths, func(pattern string) bool { return matchesPath(pattern, path) }) {
		return Path
	}
	return ""
}

func matchesPath(pattern, path string) bool {
	if prefix, isPrefix := strings.CutSuffix(pattern, "*"); isPrefix {
		return strings.HasPrefix(path, prefix)
	}
	return path == pattern
}

// isAmbiguous finds what some servers resolve or decode before they look at the path. %2F stays: names of packages need it.
func isAmbiguous(escaped string) bool {
	lower := strings.ToLower(escaped)
	for _, part := range []string{"%2e", "%5c", "%00", "\\", "//", ";"} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	for segment := range strings.SplitSeq(strings.ReplaceAll(lower, "%2f", "/"), "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return !strings.HasPrefix(escaped, "/")
}
