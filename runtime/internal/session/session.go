// Package session decides as which user, in which directory and with which environment a request runs.
package session

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sandlot.dev/runtime/internal/marks"
	"sandlot.dev/runtime/internal/paths"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/users"
)

// oomScoreAdj makes the kernel kill the workload before the daemon.
const oomScoreAdj = 100

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// imageUser is the account in images for E2B clients.
const imageUser = "user"

// Defaults come from the daemon's environment; /init overrides them.
type Defaults struct {
	User    string
	Workdir string
	// Trusted returns the variables by which programs find the authorities to trust; nil: there are none.
	Trusted func() map[string]string
	// Marked has every process see that it runs in a sandbox, and in which.
	Marked bool
}

// Session combines the users of the image with the settings of /init. It is safe for concurrent use.
type Session struct {
	users    *users.Directory
	state    *state.Store
	defaults Defaults
}

// New returns a session.
func New(directory *users.Directory, store *state.Store, defaults Defaults) *Session {
	return &Session{users: directory, state: store, defaults: defaults}
}

// User finds a user by name. An empty name means the default user: of /init, else of the daemon's environment, else
// `user` if the image has it, else the daemon's own.
func (s *Session) User(name string) (users.User, error) {
	if name == "" {
		name = s.state.Current().DefaultUser
	}
	if name == "" {
		name = s.defaults.User
	}
	if name != "" {
		return s.users.Lookup(name)
	}
	if user, err := s.users.Lookup(imageUser); err == nil {
		return user, nil
	}
	return s.users.Lookup(s.users.Self().Name)
}

// Names returns the directory that maps ids of owners to names.
func (s *Session) Names() *users.Directory { return s.users }

// Workdir returns the absolute default working directory.
func (s *Session) Workdir(user users.User) (string, error) { return s.Resolve("", user) }

// Resolve makes a path of a request absolute; an empty path means the default working directory, else the home.
func (s *Session) Resolve(path string, user users.User) (string, error) {
	workdir := s.state.Current().Workdir
	if workdir == "" {
		workdir = s.defaults.Workdir
	}
	return paths.Resolve(path, paths.Base{Home: user.Home, Workdir: workdir})
}

// EnvVars returns the environment of /init.
func (s *Session) EnvVars() map[string]string { return s.state.Current().EnvVars }

// Command is the command of a request.
type Command struct {
	Cmd      string
	Args     []string
	Env      map[string]string
	Cwd      string
	Terminal *process.Size
	Stdin    bool
}

// InputError means that the request itself is wrong; its message is for the client.
type InputError struct{ message string }

func (e *InputError) Error() string { return e.message }

// Spec completes a command with an existing absolute directory and the whole environment. The error is an
// *InputError.
func (s *Session) Spec(user users.User, c Command) (process.Spec, error) {
	dir, err := s.Resolve(c.Cwd, user)
	if err != nil {
		return process.Spec{}, &InputError{err.Error()}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return process.Spec{}, &InputError{fmt.Sprintf("cwd '%s' does not exist", dir)}
	}
	env, err := s.environment(user, c.Env)
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Cmd:         c.Cmd,
		Args:        c.Args,
		Env:         env,
		Dir:         dir,
		User:        user,
		SwitchUser:  s.users.CanSwitch(),
		Terminal:    c.Terminal,
		Stdin:       c.Stdin,
		OOMScoreAdj: oomScoreAdj,
	}, nil
}

// SandboxEnv returns what every process of the sandbox gets: the marks, and the environment of /init, which may override them.
func (s *Session) SandboxEnv() map[string]string {
	settings := s.state.Current()
	all := map[string]string{}
	if s.defaults.Marked {
		maps.Copy(all, marks.Variables(settings))
	}
	maps.Copy(all, settings.EnvVars)
	return all
}

// environment merges the variables, later ones win. Of the daemon's own environment it contains only PATH.
func (s *Session) environment(user users.User, extra map[string]string) ([]string, error) {
	path := os.Getenv("PATH")
	if path == "" {
		path = usualPath
	}
	all := map[string]string{"PATH": path, "HOME": user.Home, "USER": user.Name, "LOGNAME": user.Name}
	if s.defaults.Trusted != nil {
		maps.Copy(all, s.defaults.Trusted())
	}
	maps.Copy(all, s.SandboxEnv())
	maps.Copy(all, extra)
	env := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.IndexByte(all[name], 0) >= 0 {
			return nil, &InputError{fmt.Sprintf("environment variable %q: the name may not be empty or contain '=', neither may contain NUL", name)}
		}
		env = append(env, name+"="+all[name])
	}
	return env, nil
}
