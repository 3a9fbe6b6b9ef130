package rpc

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "sandlot.dev/runtime/internal/gen/process"
	"sandlot.dev/runtime/internal/process"
	"sandlot.dev/runtime/internal/session"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/users"
)

// routes returns the services over an empty table of processes.
func routes() http.Handler {
	s := session.New(users.New(users.Options{}), state.Open(nil, state.Owner{}), session.Defaults{})
	mux := http.NewServeMux()
	NewProcesses(process.NewTable(nil, 0), s).Register(mux)
	NewFilesystem(s).Register(mux)
	return mux
}

func call(handler http.Handler, path, kind string, body []byte) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", kind)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func FuzzAStreamOfAnyBytesEndsWithOneEndEnvelope(f *testing.F) {
	start := `{"start":{"process":{"pid":1}}}`
	for _, seed := range []string{"", "\x00", "\x00\x00\x00\x00\x1f" + start, "\x01\x00\x00\x00\x02{}", "\x02\x00\x00\x00\x02{}", "\x00\xff\xff\xff\xff", "\x00\x00\x00\x00\x02{}\x00\x00\x00\x00\x02[]"} {
		f.Add([]byte(seed))
	}
	handler := routes()
	f.Fuzz(func(t *testing.T, body []byte) {
		got := call(handler, "/process.Process/StreamInput", "application/connect+json", body)
		rest := got.Body.Bytes()
		ends := 0
		for len(rest) >= 5 {
			length := int(binary.BigEndian.Uint32(rest[1:]))
			if length > len(rest)-5 || !json.Valid(rest[5:5+length]) {
				t.Fatalf("%q is no envelope", rest)
			}
			if rest[0] == 2 {
				ends++
			}
			rest = rest[5+length:]
		}
		if got.Code != http.StatusOK || ends != 1 || len(rest) != 0 {
			t.Errorf("%q was answered with %d %q", body, got.Code, got.Body)
		}
	})
}

func FuzzAUnaryCallOfAnyBytesIsAnsweredWithJSON(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", "[]", `{"process":{"pid":1}}`, `{"process":{"pid":4294967296}}`, `{"process":{"tag":"\ud800"}}`, `{"signal":99}`, "\xff"} {
		f.Add([]byte(seed))
	}
	handler := routes()
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, method := range []string{"process.Process/SendSignal", "process.Process/SendInput", "filesystem.Filesystem/GetWatcherEvents", "filesystem.Filesystem/Stat"} {
			got := call(handler, "/"+method, "application/json", body)
			if !json.Valid(got.Body.Bytes()) || got.Code >= 500 {
				t.Errorf("%s of %q was answered with %d %q", method, body, got.Code, got.Body)
			}
		}
	})
}

func FuzzOutputIsEncodedAsTheModuleWould(f *testing.F) {
	f.Add([]byte("hi\n"), 0)
	f.Add([]byte{}, 1)
	f.Add([]byte{0xff, 0xfe, 0}, 2)
	f.Fuzz(func(t *testing.T, data []byte, stream int) {
		event := toEvent(process.Event{Stream: process.Stream((stream%3 + 3) % 3), Data: data})
		for _, message := range []proto.Message{&pb.StartResponse{Event: event}, &pb.ConnectResponse{Event: event}} {
			fast, err := codec{}.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			slow, err := protojson.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			var compact bytes.Buffer
			_ = json.Compact(&compact, slow)
			if !bytes.Equal(fast, compact.Bytes()) {
				t.Errorf("%s is not %s", fast, compact.Bytes())
			}
		}
	})
}

func TestFileNamesBecomeValidUTF8(t *testing.T) {
	if got := text("a\xffb"); got != "a\uFFFDb" || strings.Contains(got, "\xff") {
		t.Errorf("got %q", got)
	}
}
