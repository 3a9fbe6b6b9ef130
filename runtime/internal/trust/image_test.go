package trust

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheStoresThatTheImageHasTrustTheAuthority(t *testing.T) {
	own, public := newAuthority(t), newAuthority(t)
	for name, row := range map[string]struct {
		store string
		links map[string]string
	}{
		"Debian":  {debian, nil},
		"Alpine":  {debian, map[string]string{"etc/ssl/cert.pem": "certs/ca-certificates.crt"}},
		"Red Hat": {"etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", map[string]string{"etc/pki/tls/certs/ca-bundle.crt": "../../ca-trust/extracted/pem/tls-ca-bundle.pem"}},
		"SUSE":    {"var/lib/ca-certificates/ca-bundle.pem", map[string]string{"etc/ssl/ca-bundle.pem": "../../var/lib/ca-certificates/ca-bundle.pem"}},
	} {
		w := newWorld(t)
		w.put(row.store, public.pem+"\n# the end")
		for link, target := range row.links {
			w.mkdir(filepath.Dir(link), 0o755)
			w.link(link, target)
		}
		if err := os.Chmod(filepath.Join(w.base, row.store), 0o640); err != nil {
			t.Fatal(err)
		}
		w.apply(own.pem)
		got := w.read(row.store)
		if !own.isTrustedBy(t, got) || !strings.HasPrefix(got, public.pem+"\n# the end\n") || strings.Count(got, own.pem) != 1 {
			t.Errorf("%s: got %s", name, got)
		}
		info, _ := os.Lstat(filepath.Join(w.base, row.store))
		if info.Mode() != 0o640 {
			t.Errorf("%s: the store has the mode %v", name, info.Mode())
		}
		for link, target := range row.links {
			if now, err := os.Readlink(filepath.Join(w.base, link)); now != target {
				t.Errorf("%s: %s leads to %q, %v", name, link, now, err)
			}
		}
	}
}

func TestAnImageWithoutAStoreGetsNone(t *testing.T) {
	w := newWorld(t)
	w.apply(newAuthority(t).pem)
	_ = filepath.WalkDir(w.base, func(path string, entry fs.DirEntry, _ error) error {
		if !strings.HasPrefix(path, w.folder) && !entry.IsDir() {
			t.Errorf("the image has got %s", path)
		}
		return nil
	})
}

func TestTheToolsOfADistributionFindTheAuthority(t *testing.T) {
	own := newAuthority(t).pem
	for _, each := range anchors {
		w := newWorld(t)
		w.mkdir(each.folder, 0o755)
		w.apply(own)
		if got := w.read(filepath.Join(each.folder, each.name)); got != own {
			t.Errorf("%s: got %s", each.folder, got)
		}
		w.apply("")
		if entries, _ := os.ReadDir(filepath.Join(w.base, each.folder)); len(entries) != 0 {
			t.Errorf("%s: the authority stays when it should go", each.folder)
		}
	}
}

func TestAnotherUserThanRootChangesNothingOfTheImage(t *testing.T) {
	w := newWorld(t)
	w.changesImage = false
	public := newAuthority(t).pem
	w.put(debian, public)
	w.mkdir("usr/local/share/ca-certificates", 0o755)
	w.apply(newAuthority(t).pem)
	entries, _ := os.ReadDir(filepath.Join(w.base, "usr/local/share/ca-certificates"))
	if w.read(debian) != public || len(entries) != 0 {
		t.Error("the image has changed")
	}
}

// Each puts something where the daemon writes. The file "victim" is what it must not change.
func TestNothingThatATenantPutsThereLeadsTheDaemonElsewhere(t *testing.T) {
	for name, plant := range map[string]func(w world){
		"a link in place of the folder":     func(w world) { w.link(".sandlot/ca", "../elsewhere") },
		"a link that leads nowhere":         func(w world) { w.link(".sandlot/ca", "../none") },
		"a file in place of the folder":     func(w world) { w.put(".sandlot/ca", "mine") },
		"a folder that others may write to": func(w world) { w.mkdir(".sandlot/ca", 0o777) },
		"links in a folder that was open":   func(w world) { w.mkdir(".sandlot/ca", 0o777); w.link(".sandlot/ca/ca.pem", "../../elsewhere/ca.pem") },
		"links in the daemon's own folder": func(w world) {
			w.mkdir(".sandlot/ca", 0o755)
			w.link(".sandlot/ca/bundle.pem", "../../elsewhere/ca.pem")
		},
		"a store that leads to another file":    func(w world) { w.mkdir("etc/ssl/certs", 0o755); w.link(debian, "../../../elsewhere/ca.pem") },
		"a store in a folder that others write": func(w world) { w.mkdir("etc/ssl", 0o777); w.link("etc/ssl/certs", "../../elsewhere") },
		"an anchor that leads to another file": func(w world) {
			w.mkdir("usr/local/share/ca-certificates", 0o755)
			w.link("usr/local/share/ca-certificates/sandlot-egress.crt", "../../../../elsewhere/ca.pem")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			own, victim := newAuthority(t), newAuthority(t).pem
			for _, each := range []string{"ca.pem", "bundle.pem", "ca-certificates.crt"} {
				w.put(filepath.Join("elsewhere", each), victim)
			}
			plant(w)
			w.apply(own.pem)
			for _, each := range []string{"ca.pem", "bundle.pem", "ca-certificates.crt"} {
				if w.read(filepath.Join("elsewhere", each)) != victim {
					t.Errorf("the daemon wrote to %s", each)
				}
			}
			info, err := os.Lstat(w.path(""))
			if err != nil || !info.IsDir() || !isOwn(info) || !own.isTrustedBy(t, w.read(".sandlot/ca/bundle.pem")) {
				t.Errorf("the daemon has no folder of its own: %v", err)
			}
		})
	}
}

func TestABundleCopiesCertificatesAloneWhereverAStoreLeads(t *testing.T) {
	w := newWorld(t)
	public := newAuthority(t)
	w.put("elsewhere/secret", "root:password\n"+public.pem)
	w.mkdir("etc/ssl/certs", 0o755)
	w.link(debian, "../../../elsewhere/secret")
	w.apply(newAuthority(t).pem)
	if bundle := w.read(".sandlot/ca/bundle.pem"); strings.Contains(bundle, "password") || !public.isTrustedBy(t, bundle) {
		t.Errorf("got %s", bundle)
	}
}

func TestAStoreThatOthersMayWriteToIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(w world) error{
		"the file":            func(w world) error { return os.Chmod(filepath.Join(w.base, debian), 0o666) },
		"its folder":          func(w world) error { return os.Chmod(filepath.Join(w.base, "etc/ssl/certs"), 0o777) },
		"a folder further up": func(w world) error { return os.Chmod(filepath.Join(w.base, "etc"), 0o775) },
	} {
		w := newWorld(t)
		public := newAuthority(t).pem
		w.put(debian, public)
		if err := change(w); err != nil {
			t.Fatal(err)
		}
		w.apply(newAuthority(t).pem)
		if w.read(debian) != public {
			t.Errorf("%s: the store has changed", name)
		}
	}
}

func TestABlockGoesWithItsLinesOnly(t *testing.T) {
	for _, row := range [][2]string{
		{"", ""},
		{"a\n", "a\n"},
		{"a\n" + blockBegin + "x\n" + blockEnd + "b\n", "a\nb\n"},
		{blockBegin + "x\n" + blockEnd + "a\n" + blockBegin + "y\n" + blockEnd, "a\n"},
		{"a\n" + blockBegin + "x\n", "a\n" + blockBegin + "x\n"},
	} {
		if got := withoutBlock(row[0]); got != row[1] {
			t.Errorf("%q became %q", row[0], got)
		}
	}
}
