package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheJVMsThatTheImageHasTrustTheAuthority(t *testing.T) {
	first, second, public := newAuthority(t), newAuthority(t), newAuthority(t)
	ofJKS, ofPKCS12 := jks(t, "changeit", public.certificate), pkcs12Of(t, public.certificate)
	for name, row := range map[string]struct{ store, content, link, target string }{
		"Debian":                 {debianJava, ofJKS, "usr/lib/jvm/java-17/lib/security/cacerts", "../../../../../../etc/ssl/certs/java/cacerts"},
		"Red Hat":                {"etc/pki/ca-trust/extracted/java/cacerts", ofJKS, "usr/lib/jvm/jre-21/lib/security/cacerts", "../../../../../../etc/pki/java/cacerts"},
		"SUSE":                   {"var/lib/ca-certificates/java-cacerts", ofJKS, "", ""},
		"Temurin":                {ofTemurin, ofJKS, "", ""},
		"Temurin 8":              {"opt/java/openjdk/jre/lib/security/cacerts", ofJKS, "", ""},
		"Corretto":               {"usr/lib/jvm/java-21-amazon-corretto/lib/security/cacerts", ofPKCS12, "usr/lib/jvm/java-21", "java-21-amazon-corretto"},
		"the image openjdk":      {"usr/local/openjdk-18/lib/security/cacerts", ofPKCS12, "", ""},
		"the image openjdk, new": {"usr/java/openjdk-25/lib/security/cacerts", ofPKCS12, "", ""},
		"an archive":             {"opt/jdk-25/lib/security/cacerts", ofPKCS12, "opt/java", "jdk-25"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put(row.store, row.content)
			if err := os.Chmod(filepath.Join(w.base, row.store), 0o444); err != nil {
				t.Fatal(err)
			}
			if name == "Red Hat" {
				w.mkdir("etc/pki/java", 0o755)
				w.link("etc/pki/java/cacerts", "../ca-trust/extracted/java/cacerts")
			}
			if row.link != "" {
				w.mkdir(filepath.Dir(row.link), 0o755)
				w.link(row.link, row.target)
			}
			for _, step := range []struct {
				authorities string
				want        [2]bool
			}{
				{first.pem, [2]bool{true, false}}, {first.pem + second.pem, [2]bool{true, true}}, {second.pem, [2]bool{false, true}}, {"", [2]bool{}},
			} {
				w.apply(step.authorities)
				roots := rootsOf(t, w.read(row.store))
				if got := [2]bool{first.isTrustedBy(t, roots), second.isTrustedBy(t, roots)}; got != step.want || !public.isTrustedBy(t, roots) {
					t.Errorf("got %v, want %v", got, step.want)
				}
				info, err := os.Lstat(filepath.Join(w.base, row.store))
				if err != nil || info.Mode() != 0o444 {
					t.Errorf("the store: %v, %v", info.Mode(), err)
				}
				before := info
				w.apply(step.authorities)
				if info, err = os.Lstat(filepath.Join(w.base, row.store)); err != nil || !os.SameFile(before, info) {
					t.Errorf("the same again replaced the store: %v", err)
				}
			}
			if w.read(row.store) != row.content {
				t.Error("the store is not as it was")
			}
			if row.link != "" {
				if now, err := os.Readlink(filepath.Join(w.base, row.link)); now != row.target {
					t.Errorf("the link leads to %q, %v", now, err)
				}
			}
		})
	}
}

func TestAStoreOfAJVMThatTheDaemonCannotReadStaysAndIsLogged(t *testing.T) {
	public := newAuthority(t)
	for name, content := range map[string]string{
		"another password": jks(t, "secret", public.certificate), "damaged": jks(t, "changeit", public.certificate)[:99], "damaged PKCS#12": pkcs12Of(t, public.certificate)[:99], "text": "hello",
	} {
		w := newWorld(t)
		w.put(debianJava, content)
		w.put(ofTemurin, pkcs12Of(t, public.certificate))
		own := newAuthority(t)
		lines := logged(t, func() { w.apply(own.pem) })
		if len(lines) != 1 || !strings.Contains(lines[0], debianJava) || strings.Contains(lines[0], "hello") {
			t.Errorf("%s: logged %q", name, lines)
		}
		if w.read(debianJava) != content || !own.isTrustedBy(t, rootsOf(t, w.read(ofTemurin))) {
			t.Errorf("%s: the wrong store has changed", name)
		}
	}
}

func TestAStoreOfAJVMChangesOnlyIfRootAloneMayWriteThere(t *testing.T) {
	for name, plant := range map[string]func(w world){
		"the file":             func(w world) { w.chmod(debianJava, 0o666) },
		"its folder":           func(w world) { w.chmod("etc/ssl/certs/java", 0o777) },
		"a folder further up":  func(w world) { w.chmod("etc/ssl", 0o775) },
		"a daemon for no root": func(w world) { w.changesImage = false },
	} {
		w := newWorld(t)
		content := jks(t, "changeit", newAuthority(t).certificate)
		w.put(debianJava, content)
		plant(w)
		if lines := logged(t, func() { w.apply(newAuthority(t).pem) }); w.read(debianJava) != content || lines[0] != "" {
			t.Errorf("%s: the store has changed, or the daemon complains: %q", name, lines)
		}
	}
}

func TestLinksLeadTheDaemonToStoresOfJVMsAlone(t *testing.T) {
	victim := jks(t, "changeit", newAuthority(t).certificate)
	for name, plant := range map[string]func(w world){
		"a store that leads elsewhere": func(w world) {
			w.mkdir("etc/ssl/certs/java", 0o755)
			w.link(debianJava, "../../../../elsewhere/cacerts")
		},
		"a JVM that leads elsewhere":        func(w world) { w.mkdir("usr/lib/jvm", 0o755); w.link("usr/lib/jvm/java-17", "../../../elsewhere/jdk") },
		"a folder of JVMs that leads there": func(w world) { w.mkdir("opt", 0o755); w.link("opt/java", "../elsewhere/all") },
		"a pipe in place of a folder": func(w world) {
			if err := syscall.Mkfifo(filepath.Join(w.base, "opt"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"a pipe in place of a store": func(w world) {
			w.mkdir("etc/ssl/certs/java", 0o755)
			if err := syscall.Mkfifo(filepath.Join(w.base, debianJava), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			victims := []string{"elsewhere/cacerts", "elsewhere/jdk/lib/security/cacerts", "elsewhere/all/17/lib/security/cacerts"}
			for _, each := range victims {
				w.put(each, victim)
			}
			plant(w)
			w.apply(newAuthority(t).pem)
			for _, each := range victims {
				if w.read(each) != victim {
					t.Errorf("the daemon wrote to %s", each)
				}
			}
		})
	}
}

func TestAnImageWithManyJVMsDelaysItsCommandNoFurther(t *testing.T) {
	w, own, content := newWorld(t), newAuthority(t), jks(t, "changeit", newAuthority(t).certificate)
	for index := range maxNames + maxJavaStores {
		w.put(fmt.Sprintf("usr/lib/jvm/%d/lib/security/cacerts", index), content)
	}
	w.apply(own.pem)
	changed := 0
	for index := range maxNames + maxJavaStores {
		if w.read(fmt.Sprintf("usr/lib/jvm/%d/lib/security/cacerts", index)) != content {
			changed++
		}
	}
	if changed != maxJavaStores {
		t.Errorf("%d stores have changed", changed)
	}
}

func TestAJVMThatTheDaemonDoesNotKnowHasAStoreToName(t *testing.T) {
	w, own, public := newWorld(t), newAuthority(t), newAuthority(t)
	w.changesImage = false
	w.put(debian, public.pem+string(encode([]byte("no certificate"))))
	w.apply(own.pem)
	roots := func() string { return rootsOf(t, w.read(".sandlot/ca/cacerts")) }
	if got := roots(); !own.isTrustedBy(t, got) || !public.isTrustedBy(t, got) || strings.Count(got, "BEGIN") != 2 {
		t.Errorf("got %s", got)
	}
	if _, isSet := w.Variables()["JAVA_TOOL_OPTIONS"]; isSet {
		t.Error("each JVM prints a line about its options")
	}
	for name, damage := range map[string]func(path string) error{
		"it is gone":   os.Remove,
		"it is a link": func(path string) error { return errors.Join(os.Remove(path), os.Symlink("ca.pem", path)) },
	} {
		if err := damage(w.path("cacerts")); err != nil {
			t.Fatal(err)
		}
		w.apply(own.pem)
		if !own.isTrustedBy(t, roots()) {
			t.Errorf("%s, and does not come back", name)
		}
	}
	w.apply("")
	if got := roots(); own.isTrustedBy(t, got) || !public.isTrustedBy(t, got) {
		t.Error("a JVM from before has no roots, or too many")
	}
}
