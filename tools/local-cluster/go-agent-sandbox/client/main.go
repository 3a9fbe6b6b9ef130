// Command client uses the stock client for Go of agent-sandbox in one namespace. It prints a line of JSON for each check, with the
// values that a test compares with what the cluster says, and ends by the SIGTERM that it sends to itself.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

// The variable with the token for the gateway: other users of the machine can read arguments.
const tokenVariable = "GATEWAY_TOKEN"

const timeout = 2 * time.Minute

type line struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail any    `json:"detail"`
}

// A detail has the values that a check saw.
type detail map[string]any

// A withToken adds the token to each request: the client has no option for headers.
type withToken string

func (token withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	copied := request.Clone(request.Context())
	copied.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(copied)
}

type session struct {
	ctx     context.Context
	options sandbox.Options
	traces  *collector
	client  *sandbox.Client
	kept    *sandbox.Sandbox
}

type check struct {
	name string
	run  func(*session) (detail, error)
}

// The checks, each of which may use what the earlier ones left.
var checks = []check{
	{"create", create},
	{"run", run},
	{"files", files},
	{"attach", attach},
	{"no token", useWithoutToken},
	{"limits", limitCalls},
	{"reconnect", reconnect},
	{"open and close", openAndClose},
	{"list and delete", listAndDelete},
	{"traces", readTraces},
	{"clean up", cleanUp},
}

// Through a Gateway the way to the sandbox is all that differs.
var checksThroughGateway = checks[:2]

func main() {
	namespace := flag.String("namespace", "", "namespace of the pool and of the claims")
	pool := flag.String("pool", "", "SandboxWarmPool to claim from")
	url := flag.String("api-url", "", "URL of the gateway")
	gateway := flag.String("gateway", "", "Gateway of the namespace to go through, in place of the URL")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	options := sandbox.Options{
		Namespace:     *namespace,
		WarmPoolName:  *pool,
		APIURL:        *url,
		HTTPTransport: withToken(os.Getenv(tokenVariable)),
	}
	chosen := checks
	if *gateway != "" {
		options.APIURL, options.HTTPTransport = "", nil
		options.GatewayName, options.GatewayNamespace = *gateway, *namespace
		chosen = checksThroughGateway
	}
	if err := runChecks(ctx, options, chosen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChecks(ctx context.Context, options sandbox.Options, chosen []check) error {
	traces, err := startCollector(ctx)
	if err != nil {
		return err
	}
	s := &session{ctx: ctx, options: options, traces: traces}
	for _, one := range chosen {
		seen, err := one.run(s)
		printed := line{Name: one.name, OK: err == nil, Detail: seen}
		if err != nil {
			printed.Detail = detail{"error": err.Error()}
		}
		if err := json.NewEncoder(os.Stdout).Encode(printed); err != nil {
			return err
		}
		if s.kept == nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return waitForSignal(ctx)
}

// newClient makes another client, which tracks none of the sandboxes of the others.
func (s *session) newClient() (*sandbox.Client, error) {
	return sandbox.NewClient(s.ctx, s.options)
}

func identify(box *sandbox.Sandbox) detail {
	return detail{
		"claim":       box.ClaimName(),
		"sandbox":     box.SandboxName(),
		"pod":         box.PodName(),
		"podIP":       box.PodIP(),
		"annotations": box.Annotations(),
		"ready":       box.IsReady(),
	}
}
