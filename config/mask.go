package config

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A data source name hides a password in one of these places: in a URL
// (postgres://user:secret@host), in front of the address (user:secret@tcp(host),
// as MySQL's driver writes it), or as a parameter (password=secret, in quotes or
// with backslashes where it stands in key=value pairs). Users and passwords may
// contain an @, so the last one counts. Rather too much is hidden than too
// little.
var (
	knownURL      = regexp.MustCompile(`^\s*["']?(?i:postgres|postgresql|mysql|mariadb|sqlite|sqlite3|file)://`)
	urlPassword   = regexp.MustCompile(`(?s)(://[^:/]*:)(.*)(@)`)
	plainPassword = regexp.MustCompile(`(?s)^(\s*["']?[^:\s]*:)(.*)(@)`)

	inOptions = regexp.MustCompile(`(?i)(` + secretKey + `=)('[^']*'|[^&\s;"']*)()`)
	inPairs   = regexp.MustCompile(`(?is)(` + secretKey + `\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])*)()`)
	inPairsOf = regexp.MustCompile(`(?i)(` + secretKey + `\s*=\s*)(.*)()`) // a line, in which quotes may be YAML's

	dsnKey      = regexp.MustCompile(`\bdsn["']?\s*:`)
	strayInLine = regexp.MustCompile(`(:)([^\s"']+)(@)`)
)

const secretKey = `(?:password|passwd|pwd|pass|secret|token|key)`

// maskDSN hides the passwords of a data source name.
func maskDSN(dsn string) string {
	options := inOptions
	if keyValueFrom.MatchString(dsn) {
		options = inPairs
	}
	return maskParts(dsn, options, func(string) string { return "*****" })
}

// maskLine hides passwords in a line of a file and keeps its width, so that a
// caret below still points at its column.
func maskLine(line string) string {
	stars := func(secret string) string { return strings.Repeat("*", utf8.RuneCountInString(secret)) }
	if at := dsnKey.FindStringIndex(line); at != nil {
		return line[:at[1]] + maskParts(line[at[1]:], optionsOf(line), stars)
	}
	return replaceSecret(optionsOf(line), replaceSecret(strayInLine, line, stars), stars)
}

// optionsOf is where a line of a file may have a password as a parameter. One in
// a URL ends where the parameter does; else it may have spaces.
func optionsOf(line string) *regexp.Regexp {
	if strings.Contains(line, "://") || strings.Contains(line, "(") || strings.Contains(line, "file:") {
		return inOptions
	}
	return inPairsOf
}

func maskParts(text string, options *regexp.Regexp, stars func(string) string) string {
	if knownURL.MatchString(text) || urlPassword.MatchString(text) {
		text = replaceSecret(urlPassword, text, stars)
	} else {
		text = replaceSecret(plainPassword, text, stars)
	}
	return replaceSecret(options, text, stars)
}

// replaceSecret replaces the second of the three groups of pattern.
func replaceSecret(pattern *regexp.Regexp, text string, stars func(string) string) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		g := pattern.FindStringSubmatch(match)
		return g[1] + stars(g[2]) + g[3]
	})
}
