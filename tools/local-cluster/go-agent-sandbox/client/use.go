package main

import (
	"errors"
	"net/http"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// create claims the sandbox that the other checks use and that stays at the end, with spans for what the client does.
func create(s *session) (detail, error) {
	options := s.options
	options.TracerProvider = s.traces.provider
	client, err := sandbox.NewClient(s.ctx, options)
	if err != nil {
		return nil, err
	}
	box, err := client.CreateSandbox(s.ctx, options.WarmPoolName, options.Namespace)
	if err != nil {
		return nil, err
	}
	s.client, s.kept = client, box
	return identify(box), nil
}

func run(s *session) (detail, error) {
	short, err := s.kept.Run(s.ctx, "echo out; echo err >&2; exit 3")
	if err != nil {
		return nil, err
	}
	long, err := s.kept.Commands().Run(s.ctx, "hostname")
	if err != nil {
		return nil, err
	}
	return detail{"short": short, "long": long}, nil
}

func files(s *session) (detail, error) {
	box := s.kept
	if err := box.Write(s.ctx, "plain.bin", []byte("\x00bytes")); err != nil {
		return nil, err
	}
	if err := box.Files().Write(s.ctx, "a file.txt", []byte("text")); err != nil {
		return nil, err
	}
	if _, err := box.Run(s.ctx, "mkdir /data/dir && printf nested > '/data/dir/a file.txt'"); err != nil {
		return nil, err
	}
	plain, err := box.Read(s.ctx, "plain.bin")
	if err != nil {
		return nil, err
	}
	nested, err := box.Files().Read(s.ctx, "dir/a file.txt")
	if err != nil {
		return nil, err
	}
	listed, err := list(s)
	if err != nil {
		return nil, err
	}
	listed["plain"], listed["nested"] = plain, string(nested)
	return listed, nil
}

func list(s *session) (detail, error) {
	entries, err := s.kept.List(s.ctx, ".")
	if err != nil {
		return nil, err
	}
	below, err := s.kept.Files().List(s.ctx, "dir")
	if err != nil {
		return nil, err
	}
	there, err := s.kept.Exists(s.ctx, "dir/a file.txt")
	if err != nil {
		return nil, err
	}
	absent, err := s.kept.Files().Exists(s.ctx, "dir/none")
	if err != nil {
		return nil, err
	}
	return detail{"entries": entries, "below": below, "there": there, "absent": absent}, nil
}

// attach reaches the sandbox from a client that did not create it.
func attach(s *session) (detail, error) {
	other, err := s.newClient()
	if err != nil {
		return nil, err
	}
	box, err := other.GetSandbox(s.ctx, s.kept.ClaimName(), s.options.Namespace)
	if err != nil {
		return nil, err
	}
	content, err := box.Read(s.ctx, "a file.txt")
	if err != nil {
		return nil, err
	}
	seen := identify(box)
	seen["content"], seen["active"] = string(content), claimNames(other)
	return seen, box.Disconnect(s.ctx)
}

func useWithoutToken(s *session) (detail, error) {
	options := s.options
	options.HTTPTransport = http.DefaultTransport
	other, err := sandbox.NewClient(s.ctx, options)
	if err != nil {
		return nil, err
	}
	box, err := other.GetSandbox(s.ctx, s.kept.ClaimName(), options.Namespace)
	if err != nil {
		return nil, err
	}
	var refused *sandbox.HTTPError
	_, err = box.Run(s.ctx, "true")
	if !errors.As(err, &refused) {
		return nil, errors.Join(errors.New("no HTTP error"), err)
	}
	return detail{"status": refused.StatusCode}, box.Disconnect(s.ctx)
}

// reconnect leaves the sandbox and comes back to the same.
func reconnect(s *session) (detail, error) {
	if err := s.kept.Disconnect(s.ctx); err != nil {
		return nil, err
	}
	seen := detail{"ready": s.kept.IsReady(), "active": claimNames(s.client)}
	if _, err := s.kept.Run(s.ctx, "true"); !errors.Is(err, sandbox.ErrNotReady) {
		return nil, errors.Join(errors.New("the client ran a command without a connection"), err)
	}
	if err := s.kept.Open(s.ctx); err != nil {
		return nil, err
	}
	content, err := s.kept.Read(s.ctx, "a file.txt")
	if err != nil {
		return nil, err
	}
	seen["again"], seen["content"] = identify(s.kept), string(content)
	return seen, nil
}
