package tell

import (
	"sync"
	"time"

	"sandlot.dev/egress/internal/rules"
)

const (
	// maxPerSandbox bounds the destinations of one sandbox between two reports, so that one that tries a million names takes no memory.
	maxPerSandbox = 100
	// otherHosts stands for the destinations beyond the bound.
	otherHosts = "*"
)

// Refused is a destination that a sandbox was refused, or would have been while it is observed.
type Refused struct {
	Type      string       `json:"type"`
	Namespace string       `json:"namespace"`
	UID       string       `json:"uid"`
	ClaimUID  string       `json:"claimUid,omitempty"`
	Protocol  Protocol     `json:"protocol"`
	Host      string       `json:"host"`
	Port      uint16       `json:"port,omitempty"`
	Reason    rules.Reason `json:"reason"`
	Count     int          `json:"count"`
	Last      time.Time    `json:"last"`
}

type destination struct {
	uid, host string
	protocol  Protocol
	port      uint16
	reason    rules.Reason
}

type refusals struct {
	mutex sync.Mutex
	known map[destination]*Refused
	// of counts the destinations of each sandbox.
	of map[string]int
}

func newRefusals() *refusals {
	return &refusals{known: map[destination]*Refused{}, of: map[string]int{}}
}

func (r *refusals) add(event Event, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	uid := event.Sandbox.UID
	key := destination{uid, event.Host, event.Protocol, event.Port, event.Reason}
	if r.known[key] == nil && r.of[uid] >= maxPerSandbox {
		key.host = otherHosts
	}
	found := r.known[key]
	if found == nil {
		r.of[uid]++
		found = &Refused{
			Type: "refused", Namespace: event.Sandbox.Namespace, UID: uid, ClaimUID: event.Sandbox.ClaimUID,
			Protocol: key.protocol, Host: key.host, Port: key.port, Reason: key.reason,
		}
		r.known[key] = found
	}
	found.Count++
	found.Last = now
}

func (r *refusals) take() []any {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	all := make([]any, 0, len(r.known))
	for _, each := range r.known {
		all = append(all, *each)
	}
	clear(r.known)
	clear(r.of)
	return all
}
