package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// tableName is the nftables table that holds all our rules. `npm run down` deletes it.
const tableName = "ip sandlot-policy"

const (
	podSet     = "pods"
	selfSet    = "self"
	ingressMap = "ingress"
	egressMap  = "egress"
)

// table is the content of the nftables table without its base chains. Chains are named after their content and never
// change. Sets and maps change element by element.
type table struct {
	chains map[string][]string
	sets   map[string]set
}

// set is an nftables set or, with values, a verdict map.
type set struct {
	kind, definition string
	elements         map[string]string
}

func newTable() table {
	t := table{chains: map[string][]string{}, sets: map[string]set{}}
	t.define(podSet, "type ipv4_addr;")
	t.define(selfSet, "type ipv4_addr . ipv4_addr;")
	for _, name := range []string{ingressMap, egressMap} {
		t.sets[name] = set{"map", "type ipv4_addr : verdict;", map[string]string{}}
	}
	return t
}

// define adds an empty set and reports whether it is new.
func (t table) define(name, definition string) bool {
	if _, there := t.sets[name]; there {
		return false
	}
	t.sets[name] = set{"set", definition, map[string]string{}}
	return true
}

func (t table) add(name, key, value string) { t.sets[name].elements[key] = value }

// formatTable returns the transaction that replaces the whole table.
func formatTable(t table, s snapshot) string {
	var out strings.Builder
	fmt.Fprintf(&out, "table %s {}\ndelete table %s\nadd table %s\n", tableName, tableName, tableName)
	out.WriteString(formatDifference(table{}, t))
	out.WriteString(formatBaseChains(s))
	return out.String()
}

// formatBaseChains returns the chains that packets enter first. The node's own packets to pods enter neither, so the
// kernel always allows them. It drops packets from unknown pods, because their policies are unknown, and rejects packets
// to unknown pods, so that clients of a deleted pod fail at once.
func formatBaseChains(s snapshot) string {
	return fmt.Sprintf(`table %[1]s {
  chain forward {
    type filter hook forward priority filter; policy accept;
    ct state established,related accept
    ip saddr . ip daddr @self accept
    ip saddr %[2]s ip saddr != @pods counter drop
    ip daddr %[2]s ip daddr != @pods counter reject with icmp type host-unreachable
    ip saddr vmap @egress
    ip daddr vmap @ingress
  }
  chain input {
    type filter hook input priority filter; policy accept;
    iifname != "%[3]s" accept
    ct state established,related accept
    ip saddr != @pods counter drop
    ip saddr vmap @egress
  }
}
`, tableName, s.podCIDR, s.bridge)
}

// formatDifference returns the transaction that turns one table into the other, or "" if they are equal. It adds objects
// before those that refer to them, and deletes them after.
func formatDifference(before, after table) string {
	var out strings.Builder
	for _, name := range sortKeys(after.sets) {
		if _, there := before.sets[name]; !there {
			s := after.sets[name]
			fmt.Fprintf(&out, "add %s %s %s { %s }\n", s.kind, tableName, name, s.definition)
		}
	}
	for _, name := range sortKeys(after.chains) {
		if _, there := before.chains[name]; there {
			continue
		}
		fmt.Fprintf(&out, "add chain %s %s\n", tableName, name)
		for _, line := range after.chains[name] {
			fmt.Fprintf(&out, "add rule %s %s %s\n", tableName, name, line)
		}
	}
	for _, name := range sortKeys(after.sets) {
		writeElements(&out, name, before.sets[name].elements, after.sets[name].elements)
	}
	for _, name := range sortKeys(before.chains) {
		if _, there := after.chains[name]; !there {
			fmt.Fprintf(&out, "flush chain %s %s\ndelete chain %s %s\n", tableName, name, tableName, name)
		}
	}
	for _, name := range sortKeys(before.sets) {
		if _, there := after.sets[name]; !there {
			fmt.Fprintf(&out, "delete %s %s %s\n", before.sets[name].kind, tableName, name)
		}
	}
	return out.String()
}

func writeElements(out *strings.Builder, name string, before, after map[string]string) {
	var removed, added []string
	for _, key := range sortKeys(before) {
		if value, there := after[key]; !there || value != before[key] {
			removed = append(removed, formatElement(key, before[key]))
		}
	}
	for _, key := range sortKeys(after) {
		if value, there := before[key]; !there || value != after[key] {
			added = append(added, formatElement(key, after[key]))
		}
	}
	if len(removed) > 0 {
		fmt.Fprintf(out, "delete element %s %s { %s }\n", tableName, name, strings.Join(removed, ", "))
	}
	if len(added) > 0 {
		fmt.Fprintf(out, "add element %s %s { %s }\n", tableName, name, strings.Join(added, ", "))
	}
}

func formatElement(key, value string) string {
	if value == "" {
		return key
	}
	return key + " : " + value
}

func sortKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
