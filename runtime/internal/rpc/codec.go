// Package rpc serves the Connect services process.Process and filesystem.Filesystem
// (docs/reference/runtime.md#connect-protocol).
package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "sandlot.dev/runtime/internal/gen/process"
)

// codec encodes proto3 JSON without the random blanks of protojson, and encodes process output, which is nearly all
// traffic, without reflection.
type codec struct{ name string }

func (c codec) Name() string { return c.name }

func (c codec) Marshal(message any) ([]byte, error) {
	if event := eventOf(message); event != nil {
		if encoded := encodeOutput(event.GetData()); encoded != nil {
			return encoded, nil
		}
	}
	known, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", message)
	}
	spaced, err := protojson.Marshal(known)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	compact.Grow(len(spaced))
	if err := json.Compact(&compact, spaced); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

func (c codec) Unmarshal(data []byte, message any) error {
	known, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", message)
	}
	// Newer clients may send unknown fields.
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, known)
}

func eventOf(message any) *pb.ProcessEvent {
	switch m := message.(type) {
	case *pb.StartResponse:
		return m.GetEvent()
	case *pb.ConnectResponse:
		return m.GetEvent()
	}
	return nil
}

func encodeOutput(data *pb.ProcessEvent_DataEvent) []byte {
	var field string
	var bytes []byte
	switch output := data.GetOutput().(type) {
	case *pb.ProcessEvent_DataEvent_Stdout:
		field, bytes = "stdout", output.Stdout
	case *pb.ProcessEvent_DataEvent_Stderr:
		field, bytes = "stderr", output.Stderr
	case *pb.ProcessEvent_DataEvent_Pty:
		field, bytes = "pty", output.Pty
	default:
		return nil
	}
	head, tail := `{"event":{"data":{"`+field+`":"`, `"}}}`
	encoded := make([]byte, 0, len(head)+base64.StdEncoding.EncodedLen(len(bytes))+len(tail))
	encoded = append(encoded, head...)
	encoded = base64.StdEncoding.AppendEncode(encoded, bytes)
	return append(encoded, tail...)
}
