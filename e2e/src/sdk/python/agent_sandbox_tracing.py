"""The stock `k8s-agent-sandbox` client with its extra `tracing`: its spans, and those of Sandlot in the same trace."""

import json
import os
import unittest
import urllib.error
import urllib.request
from concurrent import futures

import grpc
from agent_sandbox_cluster import NAMESPACE, POOL, direct, eventually, list_claims
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxTracerConfig
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

SERVICE = "sandlot-python-client"


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Keeps the spans of the client, which sends OTLP over gRPC alone; the local cluster's backend takes HTTP."""

    def __init__(self):
        self.spans = []

    def Export(self, request, context):
        for resource in request.resource_spans:
            services = [one.value.string_value for one in resource.resource.attributes if one.key == "service.name"]
            for scope in resource.scope_spans:
                self.spans += [(services, span.name, span.trace_id.hex()) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()


def list_operations(trace_id):
    """What the backend of the cluster has of a trace, which it gets seconds later."""
    try:
        with urllib.request.urlopen(f"{os.environ['TRACES_URL']}/api/traces/{trace_id}") as answer:
            return {span["operationName"] for one in json.load(answer)["data"] for span in one["spans"]}
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return set()


class AgentSandboxTracing(unittest.TestCase):
    def test_one_trace_of_the_client_and_of_sandlot(self):
        collector = Collector()
        server = grpc.server(futures.ThreadPoolExecutor())
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{port}"

        tracer = SandboxTracerConfig(enable_tracing=True, trace_service_name=SERVICE)
        sandbox = SandboxClient(direct(), tracer_config=tracer).create_sandbox(POOL, namespace=NAMESPACE)
        self.addCleanup(sandbox.terminate)
        self.assertEqual(sandbox.commands.run("echo traced").stdout, "traced\n")
        sandbox.files.write("traced", b"1")
        self.assertTrue(trace.get_tracer_provider().force_flush())

        self.assertEqual({tuple(services) for services, _, _ in collector.spans}, {(SERVICE,)})
        names = {name for _, name, _ in collector.spans}
        # The client names the spans of its own work by itself, and those of a sandbox by the service.
        expected = {"sandbox-client.create_claim", f"{SERVICE}.run", f"{SERVICE}.write"}
        self.assertLessEqual(expected, names)
        annotations = list_claims()[sandbox.claim_name]["metadata"]["annotations"]
        trace_id = json.loads(annotations["opentelemetry.io/trace-context"])["traceparent"].split("-")[1]
        self.assertIn(trace_id, {one for _, _, one in collector.spans})
        eventually("the trace has spans of Sandlot", lambda: {"claim.create", "claim.bind"} <= list_operations(trace_id))
