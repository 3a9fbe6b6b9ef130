package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// pluginConfig is the plugin's part of the CNI configuration list, with the result of the plugins before it.
type pluginConfig struct {
	CNIVersion string          `json:"cniVersion"`
	Socket     string          `json:"socket"`
	PrevResult json.RawMessage `json:"prevResult"`
}

func runPlugin() error {
	config := pluginConfig{CNIVersion: "0.4.0"}
	if err := json.NewDecoder(os.Stdin).Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return fail(config, err)
	}
	switch os.Getenv("CNI_COMMAND") {
	case "VERSION":
		fmt.Printf(`{"cniVersion":%q,"supportedVersions":["0.3.1","0.4.0","1.0.0"]}`, config.CNIVersion)
	case "ADD":
		if err := add(config); err != nil {
			return fail(config, err)
		}
		fmt.Printf("%s", config.PrevResult)
	}
	return nil
}

func add(config pluginConfig) error {
	var result struct {
		IPs []struct {
			Address netip.Prefix `json:"address"`
		} `json:"ips"`
	}
	if err := json.Unmarshal(config.PrevResult, &result); err != nil || len(result.IPs) != 1 {
		return fmt.Errorf("the previous plugins assigned no address: %s", config.PrevResult)
	}
	address := result.IPs[0].Address.Addr()
	link := os.Getenv("CNI_IFNAME")
	err := inNamespace(os.Getenv("CNI_NETNS"), func() error {
		return errors.Join(disableIPv6(link), announceAddress(link, address))
	})
	if err != nil {
		return err
	}
	args := map[string]string{}
	for _, pair := range strings.Split(os.Getenv("CNI_ARGS"), ";") {
		key, value, _ := strings.Cut(pair, "=")
		args[key] = value
	}
	return call(config.Socket, "announce", announcement{
		Namespace: args["K8S_POD_NAMESPACE"],
		Name:      args["K8S_POD_NAME"],
		UID:       args["K8S_POD_UID"],
		IP:        address.String(),
	})
}

// inNamespace runs do in the network namespace at this path.
func inNamespace(path string, do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer own.Close()
	pods, err := os.Open(path)
	if err != nil {
		return err
	}
	defer pods.Close()
	if err := unix.Setns(int(pods.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering %s: %w", path, err)
	}
	return errors.Join(do(), unix.Setns(int(own.Fd()), unix.CLONE_NEWNET))
}

// disableIPv6 removes the pod's link-local address, which the kernel assigns: pods on the bridge would use it to bypass
// every rule. Loopback keeps its address.
func disableIPv6(link string) error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/"+link+"/disable_ipv6", []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// call sends a request to the server and returns its error message as an error.
func call(socket, route string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: announceTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	response, err := client.Post("http://network-policy/"+route, "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	message, _ := io.ReadAll(response.Body)
	return fmt.Errorf("network policy: %s", bytes.TrimSpace(message))
}

// fail reports an error as CNI requires: as JSON on standard output. The exit code is then not zero.
func fail(config pluginConfig, err error) error {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"cniVersion": config.CNIVersion, "code": 100, "msg": err.Error()})
	return err
}
