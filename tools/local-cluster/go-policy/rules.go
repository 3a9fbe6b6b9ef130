package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// direction is ingress or egress, as seen from the pod that a policy selects.
type direction struct {
	kind networking.PolicyType
	// peer is the field with the other side's address in a packet that opens a connection.
	peer, verdicts, prefix string
}

var (
	ingress = direction{networking.PolicyTypeIngress, "ip saddr", ingressMap, "i-"}
	egress  = direction{networking.PolicyTypeEgress, "ip daddr", egressMap, "e-"}
)

// rule holds the fields that ingress and egress rules share.
type rule struct {
	peers []networking.NetworkPolicyPeer
	ports []networking.NetworkPolicyPort
}

func (d direction) listRules(policy *networking.NetworkPolicy) []rule {
	var rules []rule
	if d.kind == networking.PolicyTypeIngress {
		for _, r := range policy.Spec.Ingress {
			rules = append(rules, rule{r.From, r.Ports})
		}
		return rules
	}
	for _, r := range policy.Spec.Egress {
		rules = append(rules, rule{r.To, r.Ports})
	}
	return rules
}

// compile derives the whole table from the snapshot. A pod that no policy selects has no entry in the verdict maps.
func compile(s snapshot) table {
	c := compiler{snapshot: s, table: newTable(), chains: map[string]string{}}
	for _, p := range s.pods {
		c.table.add(podSet, p.ip, "")
		c.table.add(selfSet, p.ip+" . "+p.ip, "")
		for _, d := range []direction{ingress, egress} {
			if chain := c.ensureChain(p, d); chain != "" {
				c.table.add(d.verdicts, p.ip, "jump "+chain)
			}
		}
	}
	return c.table
}

type compiler struct {
	snapshot
	table table
	// chains by policies and named ports, because most pods share a chain.
	chains map[string]string
}

func (c *compiler) ensureChain(p pod, d direction) string {
	var selecting []*networking.NetworkPolicy
	key := d.prefix
	for _, policy := range c.policies {
		if policy.Namespace == p.namespace && slices.Contains(policy.Spec.PolicyTypes, d.kind) &&
			selects(&policy.Spec.PodSelector, p.labels) {
			selecting = append(selecting, policy)
			key += string(policy.UID) + " "
		}
	}
	if len(selecting) == 0 {
		return ""
	}
	key += fmt.Sprint(p.ports)
	if name, known := c.chains[key]; known {
		return name
	}
	var lines []string
	for _, policy := range selecting {
		for _, r := range d.listRules(policy) {
			lines = append(lines, c.listMatches(r, d, p)...)
		}
	}
	// Sorted, so that the order of policies does not affect the chain's name.
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for index := range lines {
		lines[index] += " return"
	}
	lines = append(lines, "counter drop")
	name := d.prefix + digest(strings.Join(lines, "\n"))
	c.table.chains[name] = lines
	c.chains[key] = name
	return name
}

// listMatches returns one match per combination of peer and port. A packet is allowed if any of them matches.
func (c *compiler) listMatches(r rule, d direction, p pod) []string {
	var lines []string
	for _, peer := range c.listPeerMatches(r, d, p.namespace) {
		for _, port := range listPortMatches(r.ports, p, d) {
			lines = append(lines, strings.TrimSpace(peer+" "+port))
		}
	}
	if d.kind == networking.PolicyTypeEgress {
		lines = append(lines, c.listNamedDestinations(r, p)...)
		lines = append(lines, c.listStandInMatches(r, p)...)
	}
	return lines
}

func (c *compiler) listPeerMatches(r rule, d direction, namespace string) []string {
	if len(r.peers) == 0 {
		return []string{""}
	}
	var lines []string
	for _, peer := range r.peers {
		if peer.IPBlock == nil {
			lines = append(lines, fmt.Sprintf("%s @%s", d.peer, c.ensureSet(peer, namespace)))
		} else if block := formatBlockMatch(peer.IPBlock, d.peer); block != "" {
			lines = append(lines, block)
		}
	}
	return lines
}

// formatBlockMatch returns "" for IPv6 blocks, because no pod of the node has an IPv6 address.
func formatBlockMatch(block *networking.IPBlock, field string) string {
	prefix, err := netip.ParsePrefix(block.CIDR)
	if err != nil || !prefix.Addr().Is4() {
		return ""
	}
	line := field + " " + prefix.Masked().String()
	// One match per exception: nftables sets reject overlapping blocks, but policies may have them.
	for _, except := range block.Except {
		if hole, err := netip.ParsePrefix(except); err == nil {
			line += fmt.Sprintf(" %s != %s", field, hole.Masked())
		}
	}
	return line
}

func listPortMatches(ports []networking.NetworkPolicyPort, p pod, d direction) []string {
	if len(ports) == 0 {
		return []string{""}
	}
	var lines []string
	for _, port := range ports {
		protocol := formatProtocol(port.Protocol)
		switch {
		case port.Port == nil:
			lines = append(lines, "meta l4proto "+protocol)
		case port.Port.Type == intstr.Int:
			lines = append(lines, formatPortMatch(protocol, port.Port.IntVal, port.EndPort))
		case d.kind == networking.PolicyTypeIngress:
			for _, number := range findPortNumbers(p, port.Port.StrVal, protocol) {
				lines = append(lines, formatPortMatch(protocol, number, nil))
			}
		}
	}
	return lines
}

func formatPortMatch(protocol string, first int32, last *int32) string {
	line := fmt.Sprintf("meta l4proto %s th dport %d", protocol, first)
	if last != nil && *last > first {
		line += fmt.Sprintf("-%d", *last)
	}
	return line
}

func findPortNumbers(p pod, name, protocol string) []int32 {
	var numbers []int32
	for _, port := range p.ports {
		if port.name == name && port.protocol == protocol {
			numbers = append(numbers, port.number)
		}
	}
	return numbers
}

func selects(selector *meta.LabelSelector, set labels.Set) bool {
	parsed, err := meta.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(set)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
