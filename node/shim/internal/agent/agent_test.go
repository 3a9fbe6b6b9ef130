package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sandlot.dev/node/shim/internal/agent"
)

var analyst = agent.Restore{Namespace: "team", PodName: "analyst-1", PodUID: "0f8fad5b-d9cb-469f-a165-70867728950e", SnapshotUID: "7c9e6679-7425-40de-944b-e07fc1f90ae7"}

// patient limits are only reached by a test that fails.
var patient = agent.Limits{Dial: time.Minute, Begin: time.Minute, End: time.Minute}

func newSocket(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "node.sock")
}

func serve(t *testing.T, socket string, answer http.HandlerFunc) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: answer}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
}

// refuse answers as the agent does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "message": message})
}

func TestBeginNamesThePodAndGetsTheFolder(t *testing.T) {
	socket := newSocket(t)
	serve(t, socket, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want := `{"namespace":"team","podName":"analyst-1","podUid":"0f8fad5b-d9cb-469f-a165-70867728950e","snapshotUid":"7c9e6679-7425-40de-944b-e07fc1f90ae7"}`
		if r.Method != http.MethodPost || r.URL.Path != "/v1/begin" || string(body) != want {
			t.Errorf("asked %s %s %s", r.Method, r.URL, body)
		}
		_, _ = io.WriteString(w, `{"imagePath":"/var/lib/snapshots/team/7c","background":true,"direct":true}`)
	})
	image, err := agent.NewClient(socket, patient).Begin(t.Context(), analyst)
	if want := (agent.Image{Path: "/var/lib/snapshots/team/7c", Background: true, Direct: true}); err != nil || !reflect.DeepEqual(image, want) {
		t.Errorf("got %+v, %v", image, err)
	}
}

func TestRefusalKeepsCodeAndMessage(t *testing.T) {
	socket := newSocket(t)
	serve(t, socket, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, "NotAnnounced", "nothing was announced for Pod team/analyst-1")
	})
	_, err := agent.NewClient(socket, patient).Begin(t.Context(), analyst)
	var refused *agent.Error
	if !errors.As(err, &refused) || refused.Code != "NotAnnounced" || refused.Status != http.StatusForbidden {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "nothing was announced for Pod team/analyst-1") || agent.HasBegun(err) {
		t.Errorf("got %v; begun: %v", err, agent.HasBegun(err))
	}
}

func TestFolderMustBeAnAbsolutePath(t *testing.T) {
	for _, path := range []string{"", "snapshots/a", "/var/../etc", "/var//lib"} {
		socket := newSocket(t)
		serve(t, socket, func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]string{"imagePath": path})
		})
		_, err := agent.NewClient(socket, patient).Begin(t.Context(), analyst)
		if err == nil || !strings.Contains(err.Error(), "no absolute path") || !agent.HasBegun(err) {
			t.Errorf("%q: got %v", path, err)
		}
	}
}

func TestAbsentAgentIsNamed(t *testing.T) {
	limits := patient
	limits.Dial = time.Millisecond
	socket := newSocket(t)
	_, err := agent.NewClient(socket, limits).Begin(t.Context(), analyst)
	if err == nil || !strings.Contains(err.Error(), "no node agent answers at "+socket) || agent.HasBegun(err) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyAMissingSocketMeansThatThereIsNoAgent(t *testing.T) {
	limits := patient
	limits.Dial = time.Millisecond
	missing, killed := newSocket(t), newSocket(t)
	listener, err := net.Listen("unix", killed)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = listener.Close()
	for socket, want := range map[string]bool{missing: true, killed: false} {
		if err := agent.NewClient(socket, limits).Start(t.Context(), analyst.PodUID); err == nil || agent.IsAbsent(err) != want {
			t.Errorf("got %v; want that there is no agent: %v", err, want)
		}
	}
	refusing := newSocket(t)
	serve(t, refusing, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusConflict, "Hibernated", "it is hibernated")
	})
	if err := agent.NewClient(refusing, limits).Start(t.Context(), analyst.PodUID); err == nil || agent.IsAbsent(err) {
		t.Errorf("got %v", err)
	}
}

func TestAgentThatComesBackIsAsked(t *testing.T) {
	socket := newSocket(t)
	client := agent.NewClient(socket, patient)
	failed := make(chan error)
	go func() {
		_, err := client.Begin(t.Context(), analyst)
		failed <- err
	}()
	serve(t, socket, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"imagePath":"/a"}`) })
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

func TestAgentThatEndsLeavesTheRestoreToTheNext(t *testing.T) {
	socket := newSocket(t)
	calls := make(chan string, 3)
	serve(t, socket, func(w http.ResponseWriter, r *http.Request) {
		calls <- r.URL.Path
		if len(calls) == 1 {
			refuse(w, http.StatusServiceUnavailable, "Busy", "the agent ends")
			return
		}
		_, _ = io.WriteString(w, `{"imagePath":"/a"}`)
	})
	if _, err := agent.NewClient(socket, patient).Begin(t.Context(), analyst); err != nil || len(calls) != 2 {
		t.Errorf("after %d calls: %v", len(calls), err)
	}
	limits := patient
	limits.Begin = 10 * time.Millisecond
	busy := newSocket(t)
	serve(t, busy, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusServiceUnavailable, "Busy", "the agent ends")
	})
	if _, err := agent.NewClient(busy, limits).Begin(t.Context(), analyst); err == nil || !strings.Contains(err.Error(), "the agent ends") {
		t.Errorf("got %v", err)
	}
}

func TestShimWaitsLongerThanTheAgent(t *testing.T) {
	if agent.DefaultLimits.Begin <= 100*time.Second {
		t.Errorf("it gives up after %s", agent.DefaultLimits.Begin)
	}
}

func TestSilentAgentIsGivenUp(t *testing.T) {
	socket := newSocket(t)
	serve(t, socket, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	limits := patient
	limits.Begin = 50 * time.Millisecond
	_, err := agent.NewClient(socket, limits).Begin(t.Context(), analyst)
	if err == nil || !strings.Contains(err.Error(), "no answer of the node agent within 50ms") {
		t.Errorf("got %v", err)
	}
	if !agent.HasBegun(err) {
		t.Error("the agent may have begun: it must be asked to end")
	}
}

func TestRequestThatWasSentIsNotRepeated(t *testing.T) {
	socket := newSocket(t)
	var lock sync.Mutex
	asked := 0
	serve(t, socket, func(w http.ResponseWriter, _ *http.Request) {
		lock.Lock()
		defer lock.Unlock()
		asked++
		panic(http.ErrAbortHandler)
	})
	_, err := agent.NewClient(socket, patient).Begin(t.Context(), analyst)
	lock.Lock()
	defer lock.Unlock()
	if err == nil || asked != 1 || !agent.HasBegun(err) {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestEndIsRepeatedUntilTheAgentKnows(t *testing.T) {
	socket := newSocket(t)
	calls := make(chan string, 3)
	serve(t, socket, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- r.URL.Path + " " + string(body)
		if len(calls) == 1 {
			refuse(w, http.StatusInternalServerError, "Internal", "the disk is full")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	outcome := agent.Outcome{PodUID: analyst.PodUID, Message: "no such file"}
	if err := agent.NewClient(socket, patient).End(t.Context(), outcome); err != nil {
		t.Fatal(err)
	}
	want := `/v1/end {"podUid":"0f8fad5b-d9cb-469f-a165-70867728950e","restored":false,"message":"no such file"}`
	for range 2 {
		if got := <-calls; got != want {
			t.Errorf("the agent got %s", got)
		}
	}
	if len(calls) != 0 {
		t.Errorf("the agent got it again: %s", <-calls)
	}
}

func TestEndStopsAtItsLimit(t *testing.T) {
	limits := patient
	limits.End = 10 * time.Millisecond
	err := agent.NewClient(newSocket(t), limits).End(context.Background(), agent.Outcome{PodUID: analyst.PodUID})
	if err == nil || !strings.Contains(err.Error(), "within 10ms") {
		t.Errorf("got %v", err)
	}
}
