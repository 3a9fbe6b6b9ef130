package installer

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (n *node) remove() error {
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	return Remove(ctx, n.Settings)
}

func TestRemovalLeavesTheNodeAsItWas(t *testing.T) {
	n := newNode(t)
	n.AddImport = true
	n.write(n.Config, "# of the operator\nversion = 2\n")
	_ = os.MkdirAll(n.Folder, 0o755)
	_ = os.MkdirAll(n.DropIns, 0o755)
	before := n.files(false)
	n.mustInstall()
	if got, want := n.read(n.Config+backupSuffix), "# of the operator\nversion = 2\n"; got != want {
		t.Errorf("the backup has %q", got)
	}
	for range 2 {
		if err := n.remove(); err != nil {
			t.Fatal(err)
		}
		n.expectFiles(before)
	}
}

func TestRemovalKeepsWhatTheOperatorChanged(t *testing.T) {
	n := newNode(t)
	n.AddImport = true
	n.write(n.Config, "version = 2\n")
	n.mustInstall()
	n.write(n.Config, n.read(n.Config)+"oom_score = -10\n")
	n.write(filepath.Join(n.DropIns, "else.toml"), "version = 2\n")
	if err := n.remove(); err != nil {
		t.Fatal(err)
	}
	if got := n.read(n.Config); got != "version = 2\noom_score = -10\n" {
		t.Errorf("the configuration is %q", got)
	}
	n.read(filepath.Join(n.DropIns, "else.toml"))
	n.read(n.Config + backupSuffix)
}

func TestRemovalWaitsForSandboxes(t *testing.T) {
	n := newNode(t)
	n.mustInstall()
	before := n.files(true)
	end := n.runSandbox()
	ctx, cancel := context.WithTimeout(t.Context(), poll)
	defer cancel()
	if err := Remove(ctx, n.Settings); err == nil {
		t.Error("it is done")
	}
	if after := n.files(true); after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
	time.AfterFunc(poll, end)
	if err := n.remove(); err != nil {
		t.Error(err)
	}
}

func TestRemovalRefusesADropInOfAnotherAuthor(t *testing.T) {
	n := newNode(t)
	n.mustInstall()
	n.write(n.dropIn(), "version = 3\n")
	before := n.files(true)
	if err := n.remove(); err == nil || !strings.Contains(err.Error(), "is not from Sandlot's installer") {
		t.Errorf("got %v", err)
	}
	if after := n.files(true); after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
}
