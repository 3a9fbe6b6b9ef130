import type { Table } from '../../model.ts';
import { CONTAINER_VARIABLES } from './runtimes.ts';

const PYTHON = 'e2e/src/sdk/python/agent_sandbox.py';
const RUN = [PYTHON, 'test_run'] as const;
const FILES = [PYTHON, 'test_write_read_list_and_exists'] as const;
const ATTACHED = [PYTHON, 'test_refuses_requests_without_a_token'] as const;
const TUNNEL = [PYTHON, 'test_run_through_a_tunnel_to_the_router'] as const;

const ASYNC = ['e2e/src/sdk/python/agent_sandbox_async.py', 'test_use_and_end_sandboxes'] as const;

const OBJECTS = 'e2e/src/sdk/python/agent_sandbox_objects.py';
const OPTIONS = 'e2e/src/sdk/python/agent_sandbox_options.py';
const GATEWAY = 'e2e/src/sdk/python/agent_sandbox_gateway.py';
const GO = 'e2e/src/sdk/go-agent-sandbox.test.ts';
const GO_CREATE = [GO, 'creates a sandbox from a pool'] as const;
const GO_NAMES = [GO, 'names the Sandbox and its Pod as the cluster does'] as const;
const GO_FILES = [GO, 'writes, reads and lists files, and says which exist'] as const;
const GO_RECONNECT = [GO, 'disconnects and opens the same sandbox again'] as const;
const GO_OPEN = [GO, 'opens a sandbox that no client tracks, and closes it'] as const;
const GO_LISTS = [GO, 'lists sandboxes and deletes them'] as const;
const GO_LIMITS = [GO, 'ends a command at its time limit, and makes as many attempts as it may'] as const;
const GO_LATER = 'the newest client that the Go module proxy has, 0.5.0, lacks it, so no test runs it';
const GO_TUNNEL =
  'its tunnel looks for the router in the namespace of the sandbox, and the chart has it in that of the release; set `APIURL`';
const SANDBOXD = 'e2e/src/sdk/python/sandboxd.py';
const OPTIONAL = 'the template must ask for `sandboxd`, which is off by default';
const AGENT = 'the runtime has no `POST /agent`';
const GKE = 'needs the PodSnapshot API of GKE; Sandlot has SandboxSnapshot';

/** The asynchronous classes have the same methods. */
export const pythonMethods: Table = {
  title: 'Client for Python',
  what: 'method or option',
  items: [
    ['SandboxClient(connection_config=)', 'yes', RUN],
    ['SandboxClient(cleanup=)', 'yes', [OPTIONS, 'test_cleanup_when_the_program_ends']],
    ['SandboxClient(api_client=)', 'yes', [OPTIONS, 'test_a_given_api_client']],
    [
      'SandboxClient(tracer_config=)',
      'yes',
      ['e2e/src/sdk/python/agent_sandbox_tracing.py', 'test_one_trace_of_the_client_and_of_sandlot'],
    ],
    ['SandboxClient.create_sandbox', 'yes', RUN],
    ['SandboxClient.create_sandbox(namespace=)', 'yes', RUN],
    ['SandboxClient.create_sandbox(sandbox_ready_timeout=)', 'yes', [OPTIONS, 'test_sandbox_ready_timeout']],
    ['SandboxClient.create_sandbox(labels=)', 'yes', [OBJECTS, 'test_labels_of_the_claim']],
    [
      'SandboxClient.create_sandbox(claim_name=, adopt_existing=)',
      'yes',
      [OBJECTS, 'test_a_claim_of_a_given_name_is_made_once_and_adopted'],
    ],
    ['SandboxClient.create_sandbox(shutdown_after_seconds=)', 'yes', [OBJECTS, 'test_shutdown_after_seconds']],
    ['SandboxClient.create_sandbox(volume_claim_templates=)', 'yes', [OBJECTS, 'test_variables_and_a_disk']],
    [
      'SandboxClient.create_sandbox(pod_labels=, pod_annotations=)',
      'yes',
      [OBJECTS, 'test_labels_and_annotations_of_the_pod'],
    ],
    ['SandboxClient.create_sandbox(env=)', 'yes', [OBJECTS, 'test_variables_and_a_disk']],
    ['SandboxClient.get_sandbox', 'yes', ATTACHED],
    ['SandboxClient.list_active_sandboxes', 'yes', [OBJECTS, 'test_lists_and_deletions']],
    ['SandboxClient.list_all_sandboxes', 'yes', [OBJECTS, 'test_lists_and_deletions']],
    ['SandboxClient.delete_sandbox', 'yes', [OBJECTS, 'test_lists_and_deletions']],
    ['SandboxClient.delete_all', 'yes', [OBJECTS, 'test_lists_and_deletions']],
    ['SandboxClient.get_sandbox_claim_warmpool_name', 'yes', [OBJECTS, 'test_name_of_the_warm_pool']],
    ['Sandbox.commands.run', 'partly', [OBJECTS, 'test_variables_and_a_disk'], CONTAINER_VARIABLES],
    ['Sandbox.commands.run(timeout=)', 'yes', [OPTIONS, 'test_timeout_of_a_command']],
    [
      'Sandbox.commands.run(command_timeout=)',
      'yes',
      ['runtime/e2e/execapi_test.go', 'TestExecuteRunsACommandAndReturnsItsOutputAndExitCode'],
    ],
    ['Sandbox.commands.run(env=, cwd=)', 'partly', [SANDBOXD, 'test_run_with_variables_and_a_directory'], OPTIONAL],
    ['Sandbox.files.write', 'yes', FILES],
    ['Sandbox.files.read', 'yes', FILES],
    ['Sandbox.files.read_to', 'yes', [SANDBOXD, 'test_streams_of_a_megabyte']],
    ['Sandbox.files.list', 'yes', FILES],
    ['Sandbox.files.exists', 'yes', FILES],
    ['Sandbox.files.delete', 'partly', [SANDBOXD, 'test_delete'], OPTIONAL],
    ['Sandbox.get_pod_name', 'yes', [OBJECTS, 'test_name_and_address_of_the_pod']],
    ['Sandbox.get_pod_ip', 'yes', [OBJECTS, 'test_name_and_address_of_the_pod']],
    ['Sandbox.get_sandbox_name_hash', 'yes', [OBJECTS, 'test_hash_of_the_name']],
    ['Sandbox.get_service_fqdn', 'yes', [OBJECTS, 'test_name_of_the_service']],
    ['Sandbox.status', 'yes', [OBJECTS, 'test_status']],
    ['Sandbox.is_active', 'yes', [OBJECTS, 'test_a_closed_connection_is_not_active_and_deletes_nothing']],
    ['Sandbox.close_connection', 'yes', TUNNEL],
    ['Sandbox.terminate', 'yes', RUN],
    ['AsyncSandboxClient', 'yes', ASYNC],
    ['AsyncSandboxClient.close', 'yes', ASYNC],
    ['get_metrics, print_metrics', 'yes', [GATEWAY, 'test_metrics_of_the_client']],
    ['ComputerUseSandboxClient', 'no', AGENT],
    ['SandboxWithComputerUseSupport.agent', 'no', AGENT],
    ['PodSnapshotSandboxClient', 'no', GKE],
    ['SandboxWithSnapshotSupport.snapshots', 'no', GKE],
    ['SandboxWithSnapshotSupport.is_active', 'no', GKE],
    ['SandboxWithSnapshotSupport.terminate', 'no', GKE],
    ['SandboxWithSnapshotSupport.suspend', 'no', GKE],
    ['SandboxWithSnapshotSupport.resume', 'no', GKE],
    ['SandboxWithSnapshotSupport.restore', 'no', GKE],
    ['SandboxWithSnapshotSupport.is_suspended', 'no', GKE],
    ['SnapshotEngine.create', 'no', GKE],
    ['SnapshotEngine.list', 'no', GKE],
    ['SnapshotEngine.delete', 'no', GKE],
    ['SnapshotEngine.delete_all', 'no', GKE],
    ['SnapshotEngine.delete_manual_triggers', 'no', GKE],
  ],
};

export const connections: Table = {
  title: 'Ways to a sandbox',
  what: 'configuration',
  items: [
    ['SandboxDirectConnectionConfig', 'yes', RUN],
    ['SandboxDirectConnectionConfig(server_port=)', 'yes', [OPTIONS, 'test_another_port_of_the_sandbox']],
    ['SandboxDirectConnectionConfig(extra_headers=)', 'yes', RUN],
    [
      'SandboxDirectConnectionConfig(client_cert=, ca_cert=)',
      'partly',
      [PYTHON, 'test_run_through_a_proxy_that_asks_for_a_certificate'],
      'the gateway asks no client for a certificate; a proxy before it may',
    ],
    ['SandboxLocalTunnelConnectionConfig', 'yes', TUNNEL],
    [
      'SandboxGatewayConnectionConfig',
      'partly',
      [GATEWAY, 'test_run_and_files_through_a_gateway'],
      'the chart makes no Gateway; the client sends no token, so the Gateway must add one, or `gateway.agentSandbox.auth` be `none`',
    ],
    [
      'SandboxInClusterConnectionConfig',
      'partly',
      ['e2e/src/tenancy/authored.test.ts', 'runs those of every Pod when its author opens it'],
      'the default NetworkPolicy admits no client, and a Sandbox without a claim must open the port',
    ],
    ['SandboxdPodTunnelConnectionConfig', 'partly', [SANDBOXD, 'test_delete'], OPTIONAL],
    [
      'SandboxdInClusterConnectionConfig',
      'partly',
      [SANDBOXD, 'test_directly_to_the_pod'],
      `${OPTIONAL}, and admit the client in its \`networkPolicy\``,
    ],
  ],
};

export const goMethods: Table = {
  title: 'Client for Go',
  what: 'function',
  items: [
    ['NewClient', 'yes', GO_CREATE],
    ['Client.CreateSandbox', 'yes', GO_CREATE],
    ['Client.GetSandbox', 'yes', [GO, 'attaches to a sandbox of another client']],
    ['Client.DeleteSandbox', 'yes', GO_LISTS],
    ['Client.DeleteAll', 'yes', GO_LISTS],
    ['Client.EnableAutoCleanup', 'yes', [GO, 'deletes its sandboxes when a signal ends its process']],
    ['Client.ListActiveSandboxes', 'yes', GO_LISTS],
    ['Client.ListAllSandboxes', 'yes', GO_LISTS],
    ['Options.APIURL', 'yes', GO_CREATE],
    [
      'Options.GatewayName, Options.GatewayNamespace',
      'partly',
      [
        'e2e/src/sdk/agent-sandbox-gateway.test.ts',
        'the client for Go of agent-sandbox runs commands through a Gateway of the Gateway API',
      ],
      'the chart makes no Gateway',
    ],
    ['Options without APIURL and GatewayName', 'no', GO_TUNNEL],
    ['WithTimeout, WithMaxAttempts', 'yes', GO_LIMITS],
    ['HTTPError.Error', 'yes', [GO, 'is refused without a token']],
    ['DirectStrategy.Connect, DirectStrategy.Close', 'yes', GO_RECONNECT],
    ['NewK8sHelper', 'yes', [GO, 'deletes its sandboxes when a signal ends its process']],
    ['New', 'yes', GO_OPEN],
    ['Sandbox.Open', 'yes', GO_OPEN],
    ['Sandbox.Close', 'yes', GO_OPEN],
    ['Sandbox.Disconnect', 'yes', GO_RECONNECT],
    ['Sandbox.IsReady', 'yes', GO_RECONNECT],
    ['Sandbox.Commands', 'yes', [GO, 'runs commands']],
    ['Sandbox.Files', 'yes', GO_FILES],
    ['Sandbox.Run, Commands.Run', 'partly', [GO, 'runs commands'], CONTAINER_VARIABLES],
    ['Sandbox.Read, Files.Read', 'yes', GO_FILES],
    ['Sandbox.Write, Files.Write', 'yes', GO_FILES],
    [
      'Sandbox.WriteReader, Files.WriteReader',
      'partly',
      [OPTIONS, 'test_write_from_a_stream'],
      `${GO_LATER}; the client for Python makes the same request`,
    ],
    ['Sandbox.List, Files.List', 'yes', GO_FILES],
    ['Sandbox.Exists, Files.Exists', 'yes', GO_FILES],
    [
      'Sandbox.Delete, Files.Delete',
      'partly',
      [SANDBOXD, 'test_delete'],
      `${GO_LATER}; the client for Python makes the same request, and ${OPTIONAL}`,
    ],
    ['Sandbox.Annotations', 'yes', GO_NAMES],
    ['Sandbox.ClaimName', 'yes', GO_CREATE],
    ['Sandbox.SandboxName', 'yes', GO_NAMES],
    ['Sandbox.PodName', 'yes', GO_NAMES],
    ['Sandbox.PodIP', 'yes', GO_NAMES],
    [
      'K8sHelper.WaitForSandboxReady',
      'partly',
      [
        'e2e/src/release/upstream-suite.long.test.ts',
        'all tests of the end-to-end suite of agent-sandbox pass, but for those with a known difference',
      ],
      `${GO_LATER}; the end-to-end suite of agent-sandbox waits for the same condition of the Sandbox`,
    ],
    ['NewTracerProvider', 'yes', [GO, 'traces what it does, in one trace with what Sandlot does']],
  ],
};

export const typescriptClient: Table = {
  title: 'Client for TypeScript',
  what: 'client',
  items: [
    [
      'agentic-sandbox-client',
      'no',
      'the registry of npm does not have it, so no test runs it; by its sources it makes the requests of the client for Python',
      'untested',
    ],
  ],
};
