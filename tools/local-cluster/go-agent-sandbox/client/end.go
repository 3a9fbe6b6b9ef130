package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

func claimNames(client *sandbox.Client) []string {
	names := []string{}
	for _, key := range client.ListActiveSandboxes() {
		names = append(names, key.ClaimName)
	}
	slices.Sort(names)
	return names
}

// openAndClose uses a sandbox that no client tracks.
func openAndClose(s *session) (detail, error) {
	box, err := sandbox.New(s.ctx, s.options)
	if err != nil {
		return nil, err
	}
	before := box.IsReady()
	if err := box.Open(s.ctx); err != nil {
		return nil, err
	}
	opened := identify(box)
	uid, err := readUID(s, box.ClaimName())
	if err != nil {
		return nil, err
	}
	if err := box.Close(s.ctx); err != nil {
		return nil, err
	}
	return detail{"before": before, "opened": opened, "uid": uid, "after": box.IsReady()}, nil
}

// readUID shows that a claim is there, for checks whose claims are gone when the test looks.
func readUID(s *session, claim string) (string, error) {
	helper, err := sandbox.NewK8sHelper(nil, s.options.Logger)
	if err != nil {
		return "", err
	}
	found, err := helper.ExtensionsClient.SandboxClaims(s.options.Namespace).Get(s.ctx, claim, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return string(found.UID), nil
}

// listAndDelete claims two sandboxes, deletes one by its name and the other with all of its client.
func listAndDelete(s *session) (detail, error) {
	client, err := s.newClient()
	if err != nil {
		return nil, err
	}
	one, err := client.CreateSandbox(s.ctx, s.options.WarmPoolName, s.options.Namespace)
	if err != nil {
		return nil, err
	}
	two, err := client.CreateSandbox(s.ctx, s.options.WarmPoolName, s.options.Namespace)
	if err != nil {
		return nil, err
	}
	seen := detail{"one": one.ClaimName(), "two": two.ClaimName(), "active": claimNames(client)}
	if seen["all"], err = client.ListAllSandboxes(s.ctx, s.options.Namespace); err != nil {
		return nil, err
	}
	if err := client.DeleteSandbox(s.ctx, one.ClaimName(), s.options.Namespace); err != nil {
		return nil, err
	}
	seen["left"] = claimNames(client)
	result, err := two.Run(s.ctx, "echo on")
	if err != nil {
		return nil, err
	}
	seen["output"] = result.Stdout
	client.DeleteAll(s.ctx)
	seen["end"] = claimNames(client)
	return seen, nil
}

// cleanUp claims a sandbox that the client deletes when the signal comes.
func cleanUp(s *session) (detail, error) {
	client, err := s.newClient()
	if err != nil {
		return nil, err
	}
	client.EnableAutoCleanup()
	box, err := client.CreateSandbox(s.ctx, s.options.WarmPoolName, s.options.Namespace)
	if err != nil {
		return nil, err
	}
	uid, err := readUID(s, box.ClaimName())
	return detail{"claim": box.ClaimName(), "uid": uid}, err
}

// waitForSignal sends the signal on which the client cleans up. The client ends the process by it.
func waitForSignal(ctx context.Context) error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		return err
	}
	<-ctx.Done()
	return errors.New("the signal did not end the process")
}
