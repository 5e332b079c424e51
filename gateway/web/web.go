// Package web is the sale page and the browser module that a shop can put into
// a page of its own: plain ES modules and a style sheet, embedded, served as
// they were written, without a build step or anybody else's code.
//
// It is a leaf: it knows where its files belong and with which header fields
// they are served, and writes to no connection.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// folder holds the modules, below the prefix. The page names it relatively
// ("./_rushgate/…") and the modules find Rushgate's other paths one folder
// above themselves, so no file has to know the prefix.
const folder = "/_rushgate/"

// File is one thing to serve, immutable and safe for concurrent use.
type File struct {
	ContentType string
	ETag        string // strong: a digest of Body, quoted
	Body        []byte // shared; not to be written to
	Location    string // not empty: a redirect to this path, and nothing else is set
}

// Files returns every file by the exact path it is served at, for GET and HEAD:
// the page at prefix + "/", its modules below prefix + "/_rushgate/". The prefix
// is "" or a path like "/rush"; without its final slash it leads to the page,
// since relative names would miss their folder there.
func Files(prefix string) map[string]File {
	prefix = strings.TrimSuffix(prefix, "/")
	files := map[string]File{}
	if prefix != "" {
		files[prefix] = File{Location: prefix + "/"}
	}
	// The embedded folder is part of the program: it can't be unreadable.
	entries, _ := fs.ReadDir(assets, "assets")
	for _, entry := range entries {
		name := entry.Name()
		body, _ := fs.ReadFile(assets, "assets/"+name)
		at := prefix + folder + name
		if name == "index.html" {
			at = prefix + "/"
		}
		files[at] = File{ContentType: contentType(name), ETag: etag(body), Body: body}
	}
	return files
}

// contentType is decided here and not by package mime, which asks the machine
// it runs on.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8" // RFC 9239
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
