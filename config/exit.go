package config

// Exit codes of both programs.
const (
	ExitOK          = 0
	ExitFailed      = 1 // anything that the others do not name
	ExitUsage       = 2 // the command line
	ExitConfig      = 3 // the configuration
	ExitUnreachable = 4 // a server or a database that is needed does not answer
	ExitFindings    = 5 // an audit or a threshold failed
)

// Exit is an error that names the code to exit with.
type Exit struct {
	Code int
	Err  error
}

func (e *Exit) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *Exit) Unwrap() error { return e.Err }
