package state

import (
	"fmt"
	"testing"
)

var (
	first  = Owner{SandboxUID: "a", PodUID: "1"}
	second = Owner{SandboxUID: "a", PodUID: "2"}
	fork   = Owner{SandboxUID: "b", PodUID: "3"}
)

// saved returns a store with all settings, which were signed at 100.
func saved(t *testing.T, file *File) *Store {
	t.Helper()
	store := Open(file, first)
	if err := store.Change(initialise); err != nil {
		t.Fatal(err)
	}
	return store
}

func initialise(current Settings) (Settings, error) {
	open := true
	return Settings{
		Owner: current.Owner, AccessToken: "token", EnvVars: map[string]string{"A": "1"}, DefaultUser: "me", Workdir: "/w",
		SaidAt: 5, SignedAt: 100, Exec: &open, Initialized: true,
	}, nil
}

func TestSettingsRemainOnlyInTheSamePod(t *testing.T) {
	for _, row := range []struct {
		name  string
		owner Owner
		want  string
	}{
		{"the same Pod", first, "token map[A:1] me /w 5 100 true"},
		{"another Pod of the Sandbox", second, " map[]   0 100 false"},
		{"another Sandbox", fork, " map[]   0 0 false"},
	} {
		file := NewFile(t.TempDir())
		saved(t, file)
		if got := format(Open(file, row.owner).Current()); got != row.want {
			t.Errorf("%s: got %s", row.name, got)
		}
	}
}

func format(s Settings) string {
	return fmt.Sprint(s.AccessToken, " ", s.EnvVars, " ", s.DefaultUser, " ", s.Workdir, " ", s.SaidAt, " ", s.SignedAt, " ", s.Initialized)
}

func TestARestoreLeavesNothingButTheTimeOfTheLastSignature(t *testing.T) {
	for _, row := range []struct {
		name   string
		owner  Owner
		oldest int64
		want   string
	}{
		{"the same Pod, as far as it says", first, 50, " map[]   0 100 false"},
		{"another Pod of the Sandbox", second, 50, " map[]   0 100 false"},
		{"another Pod of the Sandbox, long after", second, 500, " map[]   0 500 false"},
		{"another Sandbox", fork, 50, " map[]   0 50 false"},
	} {
		file := NewFile(t.TempDir())
		next, err := saved(t, file).Succeed(row.owner, row.oldest)
		if err != nil {
			t.Fatal(err)
		}
		for where, settings := range map[string]Settings{"in memory": next.Current(), "in the file": Open(file, row.owner).Current()} {
			if got := format(settings); got != row.want || settings.Exec != nil {
				t.Errorf("%s %s: got %s", row.name, where, got)
			}
		}
	}
}

func TestAnInitThatBeganBeforeTheSnapshotChangesNothing(t *testing.T) {
	file := NewFile(t.TempDir())
	last := saved(t, file)
	next, err := last.Succeed(fork, 50)
	if err != nil {
		t.Fatal(err)
	}
	if last.Change(initialise) == nil {
		t.Error("the store of the saved Pod still takes settings")
	}
	if got := last.Current(); got.AccessToken == "token" || got.AccessToken == "" || got.EnvVars != nil || *got.Exec {
		t.Errorf("the store of the saved Pod still has %+v", got)
	}
	if got := format(Open(file, fork).Current()); got != format(next.Current()) {
		t.Errorf("the file has %s", got)
	}
}
