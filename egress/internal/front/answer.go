package front

import (
	"encoding/json"
	"net/http"
)

// codeHeader tells a client that an answer comes from the proxy, and why.
const codeHeader = "X-Sandlot-Egress"

// refusal is what a sandbox hears instead of the upstream.
type refusal struct {
	status int
	code   string
	hint   string
}

var (
	denied      = refusal{http.StatusForbidden, "egress_denied", "the host is not in the allow list of this sandbox"}
	tlsRequired = refusal{http.StatusForbidden, "egress_tls_required", "a rule sets headers for this host: use https"}
	wrongHost   = refusal{http.StatusMisdirectedRequest, "egress_host_mismatch", "the request is for another host than the connection"}
	noHost      = refusal{http.StatusBadRequest, "egress_bad_host", "the request names no host, or an address in place of one"}
	noMethod    = refusal{http.StatusForbidden, "egress_method_denied", "the rule of this host does not have the method"}
	noPath      = refusal{http.StatusForbidden, "egress_path_denied", "the rule of this host does not have the path"}
	oddPath     = refusal{http.StatusBadRequest, "egress_path_ambiguous", "the path has dot segments, doubled slashes or encoded ones"}
	noTunnel    = refusal{http.StatusMethodNotAllowed, "egress_no_tunnel", "CONNECT goes to the port for it"}
	noPort      = refusal{http.StatusForbidden, "egress_port_denied", "the proxy does not connect to this port"}
	notProven   = refusal{http.StatusForbidden, "egress_not_proven", "the daemon of this sandbox did not prove who it is"}
	noValue     = refusal{http.StatusBadGateway, "egress_credential_missing", "the Secret of a rule of this host is missing or not marked"}
	noUpstream  = refusal{http.StatusBadGateway, "egress_upstream", "the host cannot be reached"}
	closedOff   = refusal{http.StatusForbidden, "egress_address_denied", "the host leads to an address that this sandbox may not reach"}
	crowded     = refusal{http.StatusTooManyRequests, "egress_limit", "this sandbox has too many connections open"}
	wrongProof  = refusal{http.StatusProxyAuthRequired, "egress_proxy_credentials", "the credentials for the proxy are not those of this sandbox"}
)

// write answers with the refusal. The host is what the client asked for.
func (r refusal) write(writer http.ResponseWriter, host string) {
	body, _ := json.Marshal(map[string]string{"error": r.code, "host": host, "hint": r.hint})
	header := writer.Header()
	header.Set("Content-Type", "application/json")
	header.Set(codeHeader, r.code)
	writer.WriteHeader(r.status)
	_, _ = writer.Write(append(body, '\n'))
}
