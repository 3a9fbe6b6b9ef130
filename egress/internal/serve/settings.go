// Package serve puts the parts together and runs them.
package serve

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sandlot.dev/egress/internal/conns"
	"sandlot.dev/egress/internal/front"
	"sandlot.dev/egress/internal/tell"
)

// variablePrefix begins the name of the environment variable of each flag: -log-mode is SANDLOT_EGRESS_LOG_MODE.
const variablePrefix = "SANDLOT_EGRESS_"

// Settings are what the chart sets.
type Settings struct {
	// Bind is the address of all listeners of sandboxes.
	Bind       string
	DNSPort    uint16
	ProxyPort  uint16
	AdminPort  uint16
	DaemonPort uint16
	// Socket is where the rules process connects.
	Socket string
	// Servers answer look-ups, each HOST:PORT.
	Servers []string
	// CA has tls.crt and tls.key of the authority, and Roots the authorities of upstreams beside those of the system.
	CA, Roots string
	Front     front.Options
	Limits    conns.Limits
	DNSPerSec int
	Log       tell.Mode
	// Templates always have a label of their own in metrics.
	Templates  []string
	DrainAfter time.Duration
	Drain      time.Duration
}

// ReadSettings reads flags, and environment variables where a flag is not given. The error names the flag.
func ReadSettings(args []string, getenv func(string) string) (Settings, error) {
	var s Settings
	flags := flag.NewFlagSet("sandlot-egress", flag.ContinueOnError)
	flags.StringVar(&s.Bind, "bind", "", "address of the listeners for sandboxes; empty for all")
	port(flags, &s.DNSPort, "dns-port", 53, "port of the resolver, UDP and TCP")
	port(flags, &s.ProxyPort, "proxy-port", 3128, "port for CONNECT")
	port(flags, &s.AdminPort, "admin-port", 9464, "port of metrics and probes")
	port(flags, &s.DaemonPort, "daemon-port", 49983, "port on which the daemons of sandboxes prove who they are")
	flags.StringVar(&s.Socket, "socket", "/run/sandlot/egress.sock", "Unix socket for the rules process")
	flags.Func("servers", "DNS servers, HOST:PORT, separated by commas", list(&s.Servers))
	flags.StringVar(&s.CA, "ca", "/etc/sandlot/egress-ca", "folder with tls.crt and tls.key of the authority")
	flags.StringVar(&s.Roots, "upstream-ca", "", "file with authorities of upstreams, beside those of the system")
	flags.Func("tls-ports", "ports for TLS, separated by commas", ports(&s.Front.TLSPorts))
	flags.Func("http-ports", "ports for plain HTTP, separated by commas", ports(&s.Front.HTTPPorts))
	flags.BoolVar(&s.Front.InspectAll, "inspect-all", false, "end the TLS of every host, not only of those with a rule")
	flags.BoolVar(&s.Front.Plaintext, "plaintext-rules", false, "let rules hold for plain HTTP")
	flags.BoolVar(&s.Front.ByAddress, "identity-by-address", false, "do not ask the daemon of a sandbox for a proof")
	flags.DurationVar(&s.Front.Idle, "idle", 5*time.Minute, "end connections over which nothing came for so long")
	flags.DurationVar(&s.Front.Headers, "header-timeout", 10*time.Minute, "how long an upstream may take until its headers come")
	flags.IntVar(&s.Limits.Open, "connections", 256, "open connections of one sandbox")
	flags.IntVar(&s.Limits.PerSecond, "connections-per-second", 100, "new connections of one sandbox in a second")
	flags.IntVar(&s.DNSPerSec, "dns-per-second", 50, "questions of one sandbox in a second")
	flags.Func("log-mode", "connections that are logged: Denied, All or None", mode(&s.Log))
	flags.Func("template-labels", "templates that always have a label of their own in metrics, separated by commas", list(&s.Templates))
	flags.DurationVar(&s.DrainAfter, "drain-after", 5*time.Second, "how long new connections are taken after the end was asked for")
	flags.DurationVar(&s.Drain, "drain", time.Minute, "how long open connections may go on after it")
	if err := readAll(flags, args, getenv); err != nil {
		return s, err
	}
	return s.complete()
}

func readAll(flags *flag.FlagSet, args []string, getenv func(string) string) error {
	var failed error
	flags.VisitAll(func(each *flag.Flag) {
		name := variablePrefix + strings.ToUpper(strings.ReplaceAll(each.Name, "-", "_"))
		if value := getenv(name); value != "" && failed == nil {
			if err := each.Value.Set(value); err != nil {
				failed = fmt.Errorf("%s: %w", name, err)
			}
		}
	})
	if failed != nil {
		return failed
	}
	return flags.Parse(args)
}

func (s Settings) complete() (Settings, error) {
	if s.Log == "" {
		s.Log = tell.Denied
	}
	if len(s.Front.TLSPorts) == 0 {
		s.Front.TLSPorts = []uint16{443}
	}
	if len(s.Front.HTTPPorts) == 0 {
		s.Front.HTTPPorts = []uint16{80}
	}
	if len(s.Servers) == 0 {
		return s, fmt.Errorf("-servers: at least one DNS server is needed")
	}
	return s, nil
}

func port(flags *flag.FlagSet, into *uint16, name string, value uint16, usage string) {
	*into = value
	flags.Func(name, usage, func(text string) error {
		read, err := parsePort(text)
		*into = read
		return err
	})
}

func parsePort(text string) (uint16, error) {
	read, err := strconv.ParseUint(text, 10, 16)
	if err != nil || read == 0 {
		return 0, fmt.Errorf("%q is no port from 1 to 65535", text)
	}
	return uint16(read), nil
}

func ports(into *[]uint16) func(string) error {
	return func(text string) error {
		*into = nil
		for each := range strings.SplitSeq(text, ",") {
			read, err := parsePort(each)
			if err != nil {
				return err
			}
			*into = append(*into, read)
		}
		return nil
	}
}

func list(into *[]string) func(string) error {
	return func(text string) error {
		*into = strings.Split(text, ",")
		return nil
	}
}

func mode(into *tell.Mode) func(string) error {
	return func(text string) error {
		for _, each := range []tell.Mode{tell.Denied, tell.All, tell.None} {
			if text == string(each) {
				*into = each
				return nil
			}
		}
		return fmt.Errorf("%q is none of Denied, All, None", text)
	}
}
