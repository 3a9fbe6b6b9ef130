package sandboxd

import (
	"maps"
	"net/http"
	"os"
	"strings"
	"time"

	"sandlot.dev/runtime/internal/httpx"
)

// failure is an error answer.
type failure struct {
	status  int
	code    code
	message string
}

// code tells programs what went wrong.
type code string

const (
	notFound         code = "NOT_FOUND"
	permissionDenied code = "PERMISSION_DENIED"
	invalidArgument  code = "INVALID_ARGUMENT"
	conflict         code = "CONFLICT"
	internal         code = "INTERNAL"
)

func refuse(w http.ResponseWriter, status int, what code, text string) {
	httpx.WriteJSON(w, status, struct {
		Code    code   `json:"code"`
		Message string `json:"message"`
	}{what, text})
}

func (f *Files) health(w http.ResponseWriter, _ *http.Request, _ string) *failure {
	httpx.WriteJSON(w, http.StatusOK, struct {
		Status        string `json:"status"`
		UptimeSeconds int64  `json:"uptime_seconds"`
	}{"ok", int64(time.Since(f.Started).Seconds())})
	return nil
}

// metadata answers the variables that are meant for everyone in the sandbox, by their names.
func (f *Files) metadata(w http.ResponseWriter, _ *http.Request, _ string) *failure {
	env := map[string]string{}
	for _, each := range os.Environ() {
		name, value, _ := strings.Cut(each, "=")
		env[name] = value
	}
	maps.Copy(env, f.Root.Session.EnvVars())
	maps.DeleteFunc(env, func(name, _ string) bool { return !isPublic(name) })
	httpx.WriteJSON(w, http.StatusOK, struct {
		Env map[string]string `json:"env"`
	}{env})
	return nil
}

// secretWords mark names of variables whose value is a secret.
var secretWords = [...]string{"TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "KEY"}

func isPublic(name string) bool {
	for _, word := range secretWords {
		if strings.Contains(strings.ToUpper(name), word) {
			return false
		}
	}
	return strings.HasPrefix(name, "SANDBOX_")
}
