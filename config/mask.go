package config

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A data source name hides a password in one of these places: in a URL
// (postgres://user:secret@host), in front of the address (user:secret@tcp(host),
// as MySQL's driver writes it), or as a parameter (password=secret). Passwords
// may contain an @, so the last one counts.
var (
	urlPassword   = regexp.MustCompile(`(://[^:/@]*:)(.*)(@)`)
	plainPassword = regexp.MustCompile(`^(\s*["']?[^:/@\s]*:)(.*)(@)`)
	password      = regexp.MustCompile(`(?i)((?:password|passwd|pwd|pass|secret|token|key)=)('[^']*'|[^&\s;"']*)()`)

	dsnKey      = regexp.MustCompile(`\bdsn["']?\s*:`)
	strayInLine = regexp.MustCompile(`(:)([^\s"']+)(@)`)
)

// maskDSN hides the passwords of a data source name.
func maskDSN(dsn string) string {
	return maskParts(dsn, func(string) string { return "*****" })
}

// maskLine hides passwords in a line of a file and keeps its width, so that a
// caret below still points at its column.
func maskLine(line string) string {
	stars := func(secret string) string { return strings.Repeat("*", utf8.RuneCountInString(secret)) }
	if at := dsnKey.FindStringIndex(line); at != nil {
		return line[:at[1]] + maskParts(line[at[1]:], stars)
	}
	return replaceSecret(strayInLine, line, stars)
}

func maskParts(text string, stars func(string) string) string {
	if urlPassword.MatchString(text) {
		text = replaceSecret(urlPassword, text, stars)
	} else {
		text = replaceSecret(plainPassword, text, stars)
	}
	return replaceSecret(password, text, stars)
}

// replaceSecret replaces the second of the three groups of pattern.
func replaceSecret(pattern *regexp.Regexp, text string, stars func(string) string) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		g := pattern.FindStringSubmatch(match)
		return g[1] + stars(g[2]) + g[3]
	})
}
