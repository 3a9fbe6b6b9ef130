package main

import (
	"context"
	"encoding/hex"
	"net"
	"os"
	"slices"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

const service = "sandlot-go-client"

// A collector receives the spans of the client. It is in this process because the client sends OTLP over gRPC alone, and the local
// cluster's backend takes HTTP.
type collector struct {
	collectorv1.UnimplementedTraceServiceServer
	provider *sdktrace.TracerProvider

	mu sync.Mutex
	// services and spans are names; traces are ids.
	services, spans, traces []string
}

func startCollector(ctx context.Context) (*collector, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &collector{}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(listener) }()
	if err := os.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String()); err != nil {
		return nil, err
	}
	c.provider, err = sandbox.NewTracerProvider(ctx, service)
	return c, err
}

func (c *collector) Export(
	_ context.Context, request *collectorv1.ExportTraceServiceRequest,
) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				c.services = append(c.services, attribute.Value.GetStringValue())
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, span.Name)
				c.traces = append(c.traces, hex.EncodeToString(span.TraceId))
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

// readTraces flushes the spans of the sandbox that stays.
func readTraces(s *session) (detail, error) {
	if err := s.traces.provider.ForceFlush(s.ctx); err != nil {
		return nil, err
	}
	s.traces.mu.Lock()
	defer s.traces.mu.Unlock()
	return detail{
		"services": unique(s.traces.services),
		"spans":    unique(s.traces.spans),
		"traces":   unique(s.traces.traces),
	}, nil
}

func unique(names []string) []string {
	sorted := slices.Sorted(slices.Values(names))
	return slices.Compact(sorted)
}
