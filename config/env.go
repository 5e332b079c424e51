package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const (
	envPrefix = "RUSHGATE_"
	envFile   = "_FILE"
)

// envName is the variable that sets the key at path: limits.user.qps is
// RUSHGATE_LIMITS_USER_QPS.
func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// variables maps each variable that can be set to its path. Entries that a file
// adds to a map have none.
func variables() map[string]string {
	names := map[string]string{}
	walk("", reflect.ValueOf(Default()), func(path string, _ reflect.Value) { names[envName(path)] = path })
	return names
}

// environment lays RUSHGATE_* variables over the draft. env is what [os.Environ]
// returns; other variables are not looked at.
func (d *draft) environment(env []string) {
	known, set := variables(), map[string]string{}
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		if ok && strings.HasPrefix(name, envPrefix) && !isServiceLink(name, value) {
			set[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		d.variable(name, set, known)
	}
}

func (d *draft) variable(name string, set, known map[string]string) {
	from := Origin{Source: FromEnv, Name: name}
	if path, ok := known[name]; ok {
		d.setText(path, set[name], from)
		return
	}
	base, isFile := strings.CutSuffix(name, envFile)
	path, ok := known[base]
	if _, both := set[base]; isFile && ok && both {
		d.report(from, path, base+" is set too", "keep one of the two")
		return
	}
	if !isFile || !ok {
		d.report(from, "", "no such variable", unknownVariable(name, known))
		return
	}
	text, err := d.readValue(path, set[name], maxSecret)
	if err != nil {
		// The name is not shown: it may be the secret, set by mistake.
		d.report(from, path, "the file that it names cannot be read: "+err.Error(), "name a readable file that holds the value, or set "+base)
		return
	}
	d.setText(path, strings.TrimSpace(string(text)), from)
}

func unknownVariable(name string, known map[string]string) string {
	if near := closest(name, slices.Sorted(maps.Keys(known))); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "write RUSHGATE_ and the path of a key, e.g. RUSHGATE_LIMITS_USER_QPS for limits.user.qps"
}

var (
	serviceName  = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$`)
	numberedPort = regexp.MustCompile(`_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)
	serviceURL   = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

// isServiceLink recognises the variables that Kubernetes puts into every pod for
// each Service of its namespace, whoever asked for them: a Service that is called
// rushgate must not keep the program of that name from starting.
func isServiceLink(name, value string) bool {
	return serviceName.MatchString(name) || numberedPort.MatchString(name) ||
		strings.HasSuffix(name, "_PORT") && serviceURL.MatchString(value)
}
