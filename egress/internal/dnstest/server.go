// Package dnstest starts a DNS server for tests, which notes every question.
package dnstest

import (
	"net"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// address is one from which no client connects: a port of UDP that is free there is free for TCP as well.
const address = "127.0.4.1"

// Server answers with the records that it has.
type Server struct {
	// Address is HOST:PORT, for UDP and TCP.
	Address   string
	mutex     sync.Mutex
	records   map[string][]dns.RR
	questions []string
}

// Start starts a server with records in the format of zone files. It ends with the test.
func Start(t testing.TB, records ...string) *Server {
	t.Helper()
	server := &Server{}
	server.Set(t, records...)
	packets, err := net.ListenPacket("udp", address+":0")
	if err != nil {
		t.Fatal(err)
	}
	server.Address = packets.LocalAddr().String()
	listener, err := net.Listen("tcp", server.Address)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []*dns.Server{{PacketConn: packets, Handler: server}, {Listener: listener, Handler: server}} {
		started := make(chan struct{})
		each.NotifyStartedFunc = func() { close(started) }
		go func() { _ = each.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = each.Shutdown() })
	}
	return server
}

// Set replaces the records.
func (s *Server) Set(t testing.TB, records ...string) {
	t.Helper()
	read := map[string][]dns.RR{}
	for _, text := range records {
		record, err := dns.NewRR(text)
		if err != nil {
			t.Fatal(err)
		}
		read[record.Header().Name] = append(read[record.Header().Name], record)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.records = read
}

// Questions are the names that were asked for, in order.
func (s *Server) Questions() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]string(nil), s.questions...)
}

// ServeDNS implements dns.Handler.
func (s *Server) ServeDNS(writer dns.ResponseWriter, question *dns.Msg) {
	asked := question.Question[0]
	s.mutex.Lock()
	s.questions = append(s.questions, asked.Name+" "+dns.TypeToString[asked.Qtype])
	records, exists := s.records[asked.Name]
	s.mutex.Unlock()
	response := new(dns.Msg).SetReply(question)
	if !exists {
		response.Rcode = dns.RcodeNameError
	}
	for _, record := range records {
		if kind := record.Header().Rrtype; kind == asked.Qtype || kind == dns.TypeCNAME {
			response.Answer = append(response.Answer, record)
		}
	}
	if writer.LocalAddr().Network() == "udp" {
		response.Truncate(dns.MinMsgSize)
	}
	_ = writer.WriteMsg(response)
}
