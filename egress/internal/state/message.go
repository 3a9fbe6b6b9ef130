package state

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/http/httpguts"
	"sandlot.dev/egress/internal/names"
	"sandlot.dev/egress/internal/rules"
	"sandlot.dev/egress/secret"
)

// message is a line from the rules process. Type says which of the fields it has.
type message struct {
	// Type is reset, sandbox, gone, value, synced or beat.
	Type string `json:"type"`
	// N numbers the messages that the rules process wants confirmed.
	N       int64    `json:"n"`
	Address string   `json:"address"`
	Sandbox *sandbox `json:"sandbox"`
	// Blocked comes with reset, as Passed and Inspected, the addresses of the proxy for names without and with a rule.
	Blocked   []string `json:"blocked"`
	Passed    []string `json:"passed"`
	Inspected []string `json:"inspected"`
	Ref       string   `json:"ref"`
	// Value is null when the reference has no value any more.
	Value *string `json:"value"`
	// AgeMs comes with beat. Null means that the age is unknown.
	AgeMs *int64 `json:"ageMs"`
}

type sandbox struct {
	UID       string   `json:"uid"`
	Namespace string   `json:"namespace"`
	Template  string   `json:"template"`
	Claim     string   `json:"claim"`
	ClaimUID  string   `json:"claimUid"`
	Closed    bool     `json:"closed"`
	Observe   bool     `json:"observe"`
	Names     []string `json:"names"`
	Rules     []rule   `json:"rules"`
	Within    []block  `json:"within"`
	Denied    []string `json:"denied"`
	// Proofs are in base64.
	Proofs [][]byte `json:"proofs"`
}

type rule struct {
	Host    string   `json:"host"`
	Methods []string `json:"methods"`
	Paths   []string `json:"paths"`
	Headers []header `json:"headers"`
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Ref   string `json:"ref"`
}

type block struct {
	CIDR   string   `json:"cidr"`
	Except []string `json:"except"`
	// Ports are pairs of the first and the last port.
	Ports [][2]uint16 `json:"ports"`
}

func parseMessage(line []byte) (message, error) {
	var read message
	if err := json.Unmarshal(line, &read); err != nil {
		// The error of the parser may quote a value.
		return message{}, fmt.Errorf("a line of %d bytes is not a message", len(line))
	}
	return read, nil
}

// begin returns the view that a reset begins with.
func (m message) begin() (*view, error) {
	begun := newView()
	var err error
	if begun.blocked, err = readAll(m.Blocked, netip.ParsePrefix); err != nil {
		return nil, err
	}
	if begun.proxy.Passed, err = rules.ParseAddresses(m.Passed); err != nil {
		return nil, fmt.Errorf("passed: %w", err)
	}
	if begun.proxy.Inspected, err = rules.ParseAddresses(m.Inspected); err != nil {
		return nil, fmt.Errorf("inspected: %w", err)
	}
	return &begun, nil
}

// edit changes a view. A value that comes or changes concerns no open connection: it is looked up for each request.
type edit struct {
	make func(*view)
	of   Change
}

// edit returns the change of the view that the message asks for.
func (m message) edit() (edit, error) {
	switch m.Type {
	case "sandbox":
		return m.putSandbox()
	case "gone":
		address, err := netip.ParseAddr(m.Address)
		if err != nil {
			return edit{}, fmt.Errorf("address %q: %w", m.Address, err)
		}
		address = address.Unmap()
		return edit{func(v *view) { delete(v.sandboxes, address) }, Change{Addresses: []netip.Addr{address}}}, nil
	case "value":
		if m.Value == nil {
			return edit{func(v *view) { delete(v.values, m.Ref) }, Change{All: true}}, nil
		}
		value := secret.New(*m.Value)
		return edit{make: func(v *view) { v.values[m.Ref] = value }}, nil
	}
	return edit{}, fmt.Errorf("type %q is unknown", m.Type)
}

func (m message) putSandbox() (edit, error) {
	address, err := netip.ParseAddr(m.Address)
	if err != nil {
		return edit{}, fmt.Errorf("address %q: %w", m.Address, err)
	}
	if m.Sandbox == nil {
		return edit{}, fmt.Errorf("address %s has no sandbox", address)
	}
	read, err := m.Sandbox.read()
	if err != nil {
		return edit{}, fmt.Errorf("sandbox %s at %s: %w", m.Sandbox.UID, address, err)
	}
	address = address.Unmap()
	return edit{func(v *view) { v.sandboxes[address] = read }, Change{Addresses: []netip.Addr{address}}}, nil
}

func (s *sandbox) read() (*rules.Sandbox, error) {
	read := &rules.Sandbox{
		UID: s.UID, Namespace: s.Namespace, Template: s.Template, Claim: s.Claim, ClaimUID: s.ClaimUID,
		Closed: s.Closed, Observe: s.Observe, Proofs: s.Proofs,
	}
	var err error
	if read.Names, err = readAll(s.Names, names.ParsePattern); err != nil {
		return nil, err
	}
	if read.Rules, err = readAll(s.Rules, rule.read); err != nil {
		return nil, err
	}
	if read.Within, err = readAll(s.Within, block.read); err != nil {
		return nil, err
	}
	read.Denied, err = readAll(s.Denied, netip.ParsePrefix)
	return read, err
}

func (r rule) read() (rules.Rule, error) {
	host, err := names.ParsePattern(r.Host)
	if err != nil {
		return rules.Rule{}, err
	}
	headers, err := readAll(r.Headers, header.read)
	return rules.Rule{Host: host, Methods: r.Methods, Paths: r.Paths, Headers: headers}, err
}

func (h header) read() (rules.Header, error) {
	if !httpguts.ValidHeaderFieldName(h.Name) {
		return rules.Header{}, fmt.Errorf("header name %q is not one", h.Name)
	}
	if h.Ref != "" && strings.Count(h.Value, "{}") != 1 {
		return rules.Header{}, fmt.Errorf("header %s has a reference and no {}", h.Name)
	}
	return rules.Header(h), nil
}

func (b block) read() (rules.Block, error) {
	cidr, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return rules.Block{}, err
	}
	except, err := readAll(b.Except, netip.ParsePrefix)
	ports := make([]rules.PortRange, 0, len(b.Ports))
	for _, each := range b.Ports {
		ports = append(ports, rules.PortRange{First: each[0], Last: each[1]})
	}
	return rules.Block{CIDR: cidr, Except: except, Ports: ports}, err
}

func readAll[From, To any](from []From, read func(From) (To, error)) ([]To, error) {
	all := make([]To, 0, len(from))
	for _, each := range from {
		one, err := read(each)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}
