package store

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandlot.dev/node/internal/deathtest"
)

// orderVariable makes the test's program an agent that does one thing.
const orderVariable = "SANDLOT_TEST_STORE"

func TestMain(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		if err := obey(text); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// order is what an agent in a process of its own does.
type order struct {
	Store string
	// Copies makes it copy one, Deletes delete the snapshot of this UID.
	Copies  bool
	Deletes string
}

func obey(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	s, err := Open(o.Store, Options{})
	if err != nil {
		return err
	}
	if o.Copies {
		_, err = s.Copy(copied, oneUID)
		return err
	}
	return s.Delete(Key{Namespace: "team", UID: o.Deletes})
}

func (o order) command(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	return cmd
}

// prepare makes a store with a source, and with a copy of it if there shall be one.
func prepare(t *testing.T, withCopy bool) (root string) {
	t.Helper()
	root = t.TempDir()
	s, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	finish(t, s, one, "memory")
	if withCopy {
		makeCopy(t, s)
	}
	return root
}

func TestDeathWhileACopyIsMadeLeavesAWholeOneOrNone(t *testing.T) {
	made := 0
	steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
		root := prepare(t, false)
		return deathtest.Trial{Command: order{Store: root, Copies: true}.command(t), Judge: func(step string, _ error) {
			s := open(t, root)
			defer s.Close()
			left := []string{oneUID}
			if isWhole(t, s, copied) {
				left = append(left, copyUID)
				made++
			}
			expectFolders(t, root, left...)
			if makeCopy(t, s); !isWhole(t, s, one) || !isWhole(t, s, copied) {
				t.Errorf("%s: the next copy", step)
			}
		}}
	})
	if steps < 8 || made == 0 || made == steps {
		t.Errorf("%d steps, of which %d left a copy", steps, made)
	}
}

func TestDeathWhileOneOfBothIsDeletedLeavesTheOtherWhole(t *testing.T) {
	for _, deleted := range []Key{one, copied} {
		steps := deathtest.AtEveryStep(t, func() deathtest.Trial {
			root := prepare(t, true)
			return deathtest.Trial{Command: order{Store: root, Deletes: deleted.UID}.command(t), Judge: func(step string, _ error) {
				s := open(t, root)
				defer s.Close()
				left := []string{oneUID}
				if isWhole(t, s, deleted) {
					left = append(left, copyUID)
				}
				expectFolders(t, root, left...)
				if kept := (Key{"team", map[string]string{oneUID: copyUID, copyUID: oneUID}[deleted.UID]}); !isWhole(t, s, kept) {
					t.Errorf("%s: %s is gone", step, kept.UID)
				}
			}}
		})
		if steps < 3 {
			t.Errorf("%d steps", steps)
		}
	}
}

func TestDeletionOfTheSourceAtAnyStepLeavesAWholeCopyOrNone(t *testing.T) {
	rows := map[string]func(root string){
		"deleted": func(root string) { removeSource(t, root) },
		"deleted and saved anew": func(root string) {
			removeSource(t, root)
			another := prepareNamed(t, "others")
			if err := os.Rename(filepath.Join(another, "team", oneUID), filepath.Join(root, "team", oneUID)); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, change := range rows {
		t.Run(name, func(t *testing.T) {
			made, refused := 0, 0
			deathtest.AtEveryStep(t, func() deathtest.Trial {
				root := prepare(t, false)
				return deathtest.Trial{Command: order{Store: root, Copies: true}.command(t), Interrupt: func() { change(root) }, Judge: func(step string, err error) {
					if err != nil && !strings.Contains(err.Error(), ErrAbsent.Error()) {
						t.Errorf("%s: %v", step, err)
					}
					s := open(t, root)
					defer s.Close()
					if has := isWhole(t, s, copied); has != (err == nil) {
						t.Errorf("%s: there is a copy: %t; %v", step, has, err)
					}
					if err == nil {
						made++
					} else {
						refused++
					}
				}}
			})
			if made == 0 || refused == 0 {
				t.Errorf("%d were made and %d refused", made, refused)
			}
		})
	}
}

// removeSource does what another goroutine of the agent does in Delete.
func removeSource(t *testing.T, root string) {
	doomed := filepath.Join(root, "team", deletingPrefix+oneUID)
	if err := errors.Join(os.Rename(filepath.Join(root, "team", oneUID), doomed), os.RemoveAll(doomed)); err != nil {
		t.Error(err)
	}
}

func prepareNamed(t *testing.T, content string) (root string) {
	t.Helper()
	root = t.TempDir()
	s, err := Open(root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	finish(t, s, one, content)
	return root
}
