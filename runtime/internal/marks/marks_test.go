package marks

import (
	"os"
	"path/filepath"
	"testing"

	"sandlot.dev/runtime/internal/state"
)

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(content)
	}
	return found
}

func same(a, b map[string]string) bool {
	for name, value := range a {
		if b[name] != value {
			return false
		}
	}
	return len(a) == len(b)
}

func TestTheFilesAreThoseOfTheSandboxOfNow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run", "e2b")
	both := map[string]string{".E2B_SANDBOX": "true", ".E2B_SANDBOX_ID": "source", ".E2B_TEMPLATE_ID": "base"}
	for _, row := range []struct {
		settings state.Settings
		want     map[string]string
	}{
		{state.Settings{}, map[string]string{".E2B_SANDBOX": "true"}},
		{state.Settings{SandboxID: "source", TemplateID: "base"}, both},
		{state.Settings{SandboxID: "source", TemplateID: "base"}, both},
		{state.Settings{SandboxID: "fork"}, map[string]string{".E2B_SANDBOX": "true", ".E2B_SANDBOX_ID": "fork"}},
		{state.Settings{}, map[string]string{".E2B_SANDBOX": "true"}},
	} {
		if err := Write(dir, row.settings); err != nil {
			t.Fatal(err)
		}
		if got := contents(t, dir); !same(got, row.want) {
			t.Errorf("for %+v: got %v", row.settings, got)
		}
	}
}

func TestALinkLeadsTheDaemonNowhere(t *testing.T) {
	base, elsewhere := t.TempDir(), t.TempDir()
	victim := filepath.Join(elsewhere, "victim")
	if err := os.WriteFile(victim, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "e2b")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, ".E2B_SANDBOX")); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, state.Settings{}); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, dir)[".E2B_SANDBOX"]; got != "true" {
		t.Errorf("the file has %q", got)
	}
	linked := filepath.Join(base, "linked")
	if err := os.Symlink(elsewhere, linked); err != nil {
		t.Fatal(err)
	}
	if err := Write(linked, state.Settings{}); err == nil {
		t.Error("a folder that is a link out of its parent was written")
	}
	if got := contents(t, elsewhere); !same(got, map[string]string{"victim": "kept"}) {
		t.Errorf("the other folder has %v", got)
	}
}

func TestWhereTheDaemonMayNotWriteThereAreNoFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(file, "e2b"), "/proc/1/e2b", "/proc/absent/e2b"} {
		if err := Write(dir, state.Settings{}); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
