package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v10/controller"
)

// stage is a provisioner with one volume, which the claim "work" of team-a has.
type stage struct {
	*provisioner
	source string
}

func newStage(t *testing.T) stage {
	t.Helper()
	p := &provisioner{root: t.TempDir(), name: "sandlot.dev/volumes", client: fake.NewClientset()}
	claim := newClaim("work", "1Gi", nil)
	volume, _, err := p.Provision(t.Context(), options("pv-work", claim))
	if err != nil {
		t.Fatal(err)
	}
	claim.Spec.VolumeName, claim.Status.Phase = volume.Name, v1.ClaimBound
	volume.Spec.ClaimRef = &v1.ObjectReference{UID: claim.UID}
	p.client = fake.NewClientset(claim, volume)
	return stage{p, volume.Spec.HostPath.Path}
}

func newClaim(name, size string, source *v1.TypedLocalObjectReference) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID("uid-of-" + name)},
		Spec: v1.PersistentVolumeClaimSpec{
			DataSource: source,
			Resources:  v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}

func options(volume string, claim *v1.PersistentVolumeClaim) controller.ProvisionOptions {
	policy := v1.PersistentVolumeReclaimDelete
	return controller.ProvisionOptions{
		PVName: volume, PVC: claim, StorageClass: &storage.StorageClass{ReclaimPolicy: &policy},
		SelectedNode: &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.LabelHostname: "node-1"}}},
	}
}

func from(name string) *v1.TypedLocalObjectReference {
	return &v1.TypedLocalObjectReference{Kind: "PersistentVolumeClaim", Name: name}
}

func write(t *testing.T, folder, name, content string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func (s stage) mustClone(t *testing.T) string {
	t.Helper()
	volume, _, err := s.Provision(t.Context(), options("pv-fork", newClaim("fork", "1Gi", from("work"))))
	if err != nil {
		t.Fatal(err)
	}
	return volume.Spec.HostPath.Path
}

func TestCloneHasWhatItsSourceHadAndNeitherSeesTheOther(t *testing.T) {
	s := newStage(t)
	write(t, s.source, "note", "before")
	fork := s.mustClone(t)
	if got := read(t, fork, "note"); got != "before" {
		t.Errorf("the clone has %q", got)
	}
	write(t, fork, "note", "of the fork")
	write(t, s.source, "late", "of the source")
	if got := read(t, s.source, "note"); got != "before" {
		t.Errorf("the source has %q", got)
	}
	if _, err := os.Stat(filepath.Join(fork, "late")); !os.IsNotExist(err) {
		t.Errorf("the clone sees a later file: %v", err)
	}
}

func TestCloneKeepsModesLinksAndHoles(t *testing.T) {
	s := newStage(t)
	note := write(t, s.source, "note", "x")
	must(t, syscall.Chmod(note, 0o4751))
	must(t, os.Link(note, filepath.Join(s.source, "hard")))
	must(t, os.Symlink("/outside", filepath.Join(s.source, "soft")))
	must(t, syscall.Mkfifo(filepath.Join(s.source, "pipe"), 0o600))
	must(t, os.Truncate(write(t, s.source, "sparse", ""), 1<<30))
	fork := s.mustClone(t)
	one, other := stat(t, fork, "note"), stat(t, fork, "hard")
	if one.Mode&0o7777 != 0o4751 || one.Ino != other.Ino {
		t.Errorf("mode %o, inodes %d and %d", one.Mode, one.Ino, other.Ino)
	}
	if link, err := os.Readlink(filepath.Join(fork, "soft")); err != nil || link != "/outside" {
		t.Errorf("the link says %q, %v", link, err)
	}
	if pipe := stat(t, fork, "pipe"); pipe.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		t.Errorf("the pipe has mode %o", pipe.Mode)
	}
	if sparse := stat(t, fork, "sparse"); sparse.Size != 1<<30 || sparse.Blocks > 100 {
		t.Errorf("size %d, blocks %d", sparse.Size, sparse.Blocks)
	}
	if own := stat(t, fork); own.Mode&0o777 != 0o777 {
		t.Errorf("Pods of other users cannot write: mode %o", own.Mode)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func stat(t *testing.T, elements ...string) syscall.Stat_t {
	t.Helper()
	var found syscall.Stat_t
	must(t, syscall.Lstat(filepath.Join(elements...), &found))
	return found
}

func TestCloneIsRefused(t *testing.T) {
	snapshots, elsewhere := "snapshot.storage.k8s.io", "team-b"
	foreign := newClaim("fork", "1Gi", from("work"))
	foreign.Namespace = elsewhere
	across := newClaim("fork", "1Gi", nil)
	across.Spec.DataSourceRef = &v1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "work", Namespace: &elsewhere}
	for name, test := range map[string]struct {
		claim  *v1.PersistentVolumeClaim
		change func(*v1.PersistentVolumeClaim, *v1.PersistentVolume)
		want   string
	}{
		"of a claim that does not exist":  {claim: newClaim("fork", "1Gi", from("other")), want: "not found"},
		"of a claim of another namespace": {claim: foreign, want: "not found"},
		"across namespaces":               {claim: across, want: "another namespace is not supported"},
		"of a snapshot": {
			claim: newClaim("fork", "1Gi", &v1.TypedLocalObjectReference{APIGroup: &snapshots, Kind: "VolumeSnapshot", Name: "s"}),
			want:  "must be a PersistentVolumeClaim",
		},
		"that is smaller": {claim: newClaim("fork", "1Mi", from("work")), want: `its source "work" has 1Gi`},
		"of a claim without a volume": {
			claim:  newClaim("fork", "1Gi", from("work")),
			change: func(c *v1.PersistentVolumeClaim, _ *v1.PersistentVolume) { c.Status.Phase = v1.ClaimPending },
			want:   "has no volume yet",
		},
		"of the volume of another claim": {
			claim:  newClaim("fork", "1Gi", from("work")),
			change: func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume) { v.Spec.ClaimRef.UID = "uid-of-another" },
			want:   "is not that of its source",
		},
		"of a folder elsewhere": {
			claim:  newClaim("fork", "1Gi", from("work")),
			change: func(_ *v1.PersistentVolumeClaim, v *v1.PersistentVolume) { v.Spec.HostPath.Path = "/etc" },
			want:   "of another provisioner",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if test.change != nil {
				s.edit(t, test.change)
			}
			_, _, err := s.Provision(t.Context(), options("pv-fork", test.claim))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
			if left := s.list(t); len(left) != 1 {
				t.Errorf("it left %v", left)
			}
		})
	}
}

func (s stage) edit(t *testing.T, change func(*v1.PersistentVolumeClaim, *v1.PersistentVolume)) {
	t.Helper()
	claim, err := s.client.CoreV1().PersistentVolumeClaims("team-a").Get(t.Context(), "work", metav1.GetOptions{})
	must(t, err)
	volume, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "pv-work", metav1.GetOptions{})
	must(t, err)
	change(claim, volume)
	s.provisioner.client = fake.NewClientset(claim, volume)
}

func (s stage) list(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(s.root)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestCloneThatWasInterruptedBeginsAnew(t *testing.T) {
	s := newStage(t)
	write(t, s.source, "note", "x")
	partial := filepath.Join(s.root, partialPrefix+"pv-fork_team-a_fork")
	must(t, os.MkdirAll(partial, 0o700))
	write(t, partial, "stale", "y")
	fork := s.mustClone(t)
	if _, err := os.Stat(filepath.Join(fork, "stale")); !os.IsNotExist(err) {
		t.Errorf("the clone has a file of the interrupted one: %v", err)
	}
	if left := s.list(t); len(left) != 2 {
		t.Errorf("it left %v", left)
	}
}

func TestCloneThatIsCompleteIsNotRepeated(t *testing.T) {
	s := newStage(t)
	fork := s.mustClone(t)
	write(t, s.source, "late", "x")
	if again := s.mustClone(t); again != fork {
		t.Errorf("it is at %s, then at %s", fork, again)
	}
	if _, err := os.Stat(filepath.Join(fork, "late")); !os.IsNotExist(err) {
		t.Errorf("it was copied again: %v", err)
	}
}

func TestCloneThatFailsLeavesNothing(t *testing.T) {
	s := newStage(t)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := s.Provision(ended, options("pv-fork", newClaim("fork", "1Gi", from("work")))); err == nil {
		t.Error("it did not fail")
	}
	if left := s.list(t); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestPartialCopiesOfAKilledProcessAreRemoved(t *testing.T) {
	s := newStage(t)
	must(t, os.MkdirAll(filepath.Join(s.root, partialPrefix+"gone", "folder"), 0o700))
	must(t, removePartialCopies(s.root))
	if left := s.list(t); len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}

func TestASourceIsNotRemovedWhileItIsCopied(t *testing.T) {
	s := newStage(t)
	volume, err := s.client.CoreV1().PersistentVolumes().Get(t.Context(), "pv-work", metav1.GetOptions{})
	must(t, err)
	lock := s.sources.of(s.source)
	lock.RLock()
	ended := make(chan error, 1)
	go func() { ended <- s.Delete(context.Background(), volume) }()
	if _, err := os.Stat(s.source); err != nil {
		t.Errorf("the folder is gone: %v", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the deletion did not wait: %v", err)
	default:
	}
	lock.RUnlock()
	must(t, <-ended)
	if _, err := os.Stat(s.source); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
