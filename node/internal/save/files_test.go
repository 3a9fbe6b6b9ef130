package save_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandlot.dev/node/internal/runsc"
	"sandlot.dev/node/internal/save"
	"sandlot.dev/node/internal/store"
)

func keepFiles(mode save.Mode) save.Request {
	r := request(mode)
	r.KeepFiles = true
	return r
}

func names(m store.Manifest) []string {
	var found []string
	for _, file := range m.Files {
		found = append(found, file.Name)
	}
	return found
}

func TestFilesAreKeptBesideTheMemory(t *testing.T) {
	for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
		n := newNode(t)
		n.startAgent()
		n.pod.Exec("sh", "-c", "echo kept > /note")
		m, err := n.saver.Save(t.Context(), keepFiles(mode))
		if err != nil || !m.HasFiles || !slices.Equal(names(m), []string{"checkpoint.img", "files-worker.tar", "pages.img", "pages_meta.img"}) {
			t.Fatalf("%s: got %+v, %v", mode, m, err)
		}
		if n.pod.StandsStill() != (mode == save.Hibernate) {
			t.Errorf("%s: the Pod is paused: %t", mode, n.pod.StandsStill())
		}
		if _, err := n.store.Verify(t.Context(), m.Key); err != nil {
			t.Error(err)
		}
		again := n.rt.StartPodWithFiles(runsc.PodName{Namespace: "team", Name: "analyst-1", UID: otherUID}, filepath.Join(n.store.Path(m.Key), "files-worker.tar"), nil)
		if got := again.Exec("busybox", "cat", "/note"); got != "kept\n" {
			t.Errorf("%s: the note has %q", mode, got)
		}
	}
}

func TestFilesAloneAreSavedWithoutMemory(t *testing.T) {
	for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
		n := newNode(t)
		n.startAgent()
		wanted := request(mode)
		wanted.Contents = store.ContentsFiles
		m, err := n.saver.Save(t.Context(), wanted)
		if err != nil || !m.HasFiles || m.Contents != store.ContentsFiles || !slices.Equal(names(m), []string{"files-worker.tar"}) {
			t.Fatalf("%s: got %+v, %v", mode, m, err)
		}
		if n.pod.StandsStill() != (mode == save.Hibernate) {
			t.Errorf("%s: the Pod is paused: %t", mode, n.pod.StandsStill())
		}
		if again, err := n.saver.Save(t.Context(), wanted); err != nil || again.SavedAt != m.SavedAt {
			t.Errorf("%s: a repeated request gets %+v, %v", mode, again, err)
		}
		if _, err := n.saver.Save(t.Context(), request(mode)); err == nil {
			t.Errorf("%s: it passes for one with memory", mode)
		}
	}
}

func TestMemoryIsSavedWithoutFilesThatAreTooLarge(t *testing.T) {
	for _, contents := range []string{"", store.ContentsFiles} {
		n := newNode(t)
		n.startAgent()
		n.pod.Exec("sh", "-c", "busybox truncate -s 900M /sparse")
		wanted := keepFiles(save.Hibernate)
		wanted.Contents = contents
		m, err := n.saver.Save(t.Context(), wanted)
		if contents == store.ContentsFiles {
			if err == nil || !strings.Contains(err.Error(), "keep large files on a volume") {
				t.Errorf("got %+v, %v", m, err)
			}
			n.pod.GoesOn()
			continue
		}
		if err != nil || m.HasFiles || !strings.Contains(m.FilesMessage, "keep large files on a volume") || slices.Contains(names(m), "files-worker.tar") {
			t.Errorf("got %+v, %v", m, err)
		}
		remains, err := os.ReadDir(n.store.Path(m.Key))
		if err != nil || len(remains) != 4 {
			t.Errorf("the snapshot has %v, %v", remains, err)
		}
		if !n.pod.StandsStill() {
			t.Error("the Pod goes on")
		}
	}
}

func TestFilesCountForTheQuota(t *testing.T) {
	n := newNode(t)
	n.startAgent()
	n.pod.Exec("sh", "-c", "busybox dd if=/dev/zero of=/zeros bs=1M count=64")
	wanted := keepFiles(save.Snapshot)
	most := int64(48 << 20)
	wanted.MostBytes = &most
	m, err := n.saver.Save(t.Context(), wanted)
	if err != nil || m.HasFiles || m.Bytes > most {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestPodGoesOnAfterTheDeathOfTheAgentThatKeepsFiles(t *testing.T) {
	rows := map[string]string{
		"before gVisor writes them": `if [ $verb = fscheckpoint ]; then ` + killAgent + `; exit 1; fi`,
		"while gVisor writes them":  `if [ $verb = fscheckpoint ]; then ` + killAgent + `; sleep 0.3; fi`,
		"after gVisor has written":  `if [ $verb = fscheckpoint ]; then run "$@"; ` + killAgent + `; exit 0; fi`,
		"while the tar is written":  `if [ $verb = fscheckpoint ]; then agent=$PPID; run "$@"; (sleep 0.01; kill -9 $agent) 3>&- >/dev/null 2>&1 & exit 0; fi`,
	}
	for name, script := range rows {
		for _, wanted := range []save.Request{keepFiles(save.Hibernate), keepFiles(save.Snapshot), {Mode: save.Hibernate, Contents: store.ContentsFiles}} {
			t.Run(name+", "+string(wanted.Mode)+wanted.Contents, func(t *testing.T) {
				n := newNode(t)
				n.pod.Exec("sh", "-c", "busybox dd if=/dev/zero of=/zeros bs=1M count=64")
				whole := n.runsc
				n.wrap(script)
				asked := request(wanted.Mode)
				asked.Contents, asked.KeepFiles = wanted.Contents, wanted.KeepFiles
				n.expectKilled(n.runAgent(map[string]any{"Request": asked}))
				n.runsc = whole
				n.startAgent()
				n.expectNothing()
				if m, err := n.saver.Save(t.Context(), asked); err != nil || !m.HasFiles {
					t.Errorf("the next save: %+v, %v", m, err)
				}
			})
		}
	}
}

func TestMemoryIsSavedWhenGVisorDiesOverTheFiles(t *testing.T) {
	for name, script := range map[string]string{
		"it is killed at work": `if [ $verb = fscheckpoint ]; then killInTheMiddle "$@"; fi`,
		"it is killed":         `if [ $verb = fscheckpoint ]; then kill -9 $$; fi`,
		"it fails":             `if [ $verb = fscheckpoint ]; then echo "no disk" >&2; exit 1; fi`,
		"it writes no file":    `if [ $verb = fscheckpoint ]; then exit 0; fi`,
		"it writes other ones": `if [ $verb = fscheckpoint ]; then mkdir -p "$3"; exit 0; fi`,
	} {
		for _, mode := range []save.Mode{save.Hibernate, save.Snapshot} {
			n := newNode(t)
			n.pod.Exec("sh", "-c", "busybox dd if=/dev/urandom of=/noise bs=1M count=64")
			n.wrap(script)
			n.startAgent()
			m, err := n.saver.Save(t.Context(), keepFiles(mode))
			if err != nil || m.HasFiles || m.FilesMessage == "" || len(m.Files) != 3 {
				t.Errorf("%s, %s: got %+v, %v", name, mode, m, err)
			}
			if n.pod.StandsStill() != (mode == save.Hibernate) {
				t.Errorf("%s, %s: the Pod is paused: %t", name, mode, n.pod.StandsStill())
			}
		}
	}
}
