package trust

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAnImageThatIsLeftHasWhatItCameWith(t *testing.T) {
	own, public := newAuthority(t).pem, newAuthority(t).pem
	w := newWorld(t)
	w.put(debian, public)
	w.mkdir(anchors[0].folder, 0o755)
	w.apply(own)
	for range 2 {
		if err := w.LeaveImage(); err != nil {
			t.Fatal(err)
		}
		// As a daemon that starts again does, or one whose /init names another bundle.
		w.apply(own + newAuthority(t).pem)
		if got := w.read(debian); got != public {
			t.Errorf("the store of the image has %s", got)
		}
		if entries, _ := os.ReadDir(filepath.Join(w.base, anchors[0].folder)); len(entries) != 0 {
			t.Errorf("the folder of the distribution has %v", entries)
		}
	}
	if w.Variables()["SSL_CERT_FILE"] == "" {
		t.Error("programs find no authorities any more")
	}
}

func TestAnImageWithoutAuthoritiesIsLeftAsItIs(t *testing.T) {
	w := newWorld(t)
	w.put(debian, blockBegin+"of the image\n"+blockEnd)
	if err := w.LeaveImage(); err != nil {
		t.Fatal(err)
	}
	if got := w.read(debian); got != blockBegin+"of the image\n"+blockEnd {
		t.Errorf("the store of the image has %q", got)
	}
}

func TestAnotherUserCannotLeaveTheImage(t *testing.T) {
	w := newWorld(t)
	public := newAuthority(t).pem
	w.put(debian, public)
	note := filepath.Join(w.folder, leftName)
	if err := os.WriteFile(note, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(note, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	w.apply(newAuthority(t).pem)
	if got := w.read(debian); got == public {
		t.Error("the store of the image has no authority")
	}
}
