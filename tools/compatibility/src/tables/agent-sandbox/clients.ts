import type { Table } from '../../model.ts';

const PYTHON = 'e2e/src/sdk/python/agent_sandbox.py';
const RUN = [PYTHON, 'test_run'] as const;
const FILES = [PYTHON, 'test_write_read_list_and_exists'] as const;
const ATTACHED = [PYTHON, 'test_refuses_requests_without_a_token'] as const;
const TUNNEL = [PYTHON, 'test_run_through_a_tunnel_to_the_router'] as const;

const UNTESTED = 'no test shows it; it only reads and writes Kubernetes objects';
const GO = 'no test runs the client for Go';
const SANDBOXD = 'e2e/src/sdk/python/sandboxd.py';
const OPTIONAL = 'the template must ask for `sandboxd`, which is off by default';
const GKE = 'needs the PodSnapshot API of GKE; Sandlot has SandboxSnapshot';

/** The asynchronous classes have the same methods. */
export const pythonMethods: Table = {
  title: 'Client for Python',
  what: 'method or option',
  items: [
    ['SandboxClient.create_sandbox', 'yes', RUN],
    ['SandboxClient.create_sandbox(labels=)', 'no', UNTESTED, 'untested'],
    ['SandboxClient.create_sandbox(claim_name=, adopt_existing=)', 'no', UNTESTED, 'untested'],
    ['SandboxClient.create_sandbox(shutdown_after_seconds=)', 'no', UNTESTED, 'untested'],
    ['SandboxClient.create_sandbox(volume_claim_templates=)', 'no', UNTESTED, 'untested'],
    ['SandboxClient.create_sandbox(pod_labels=, pod_annotations=)', 'no', UNTESTED, 'untested'],
    ['SandboxClient.create_sandbox(env=)', 'no', UNTESTED, 'untested'],
    ['SandboxClient.get_sandbox', 'yes', ATTACHED],
    ['SandboxClient.list_active_sandboxes', 'no', 'no test shows it; it asks nothing of the installation', 'untested'],
    ['SandboxClient.list_all_sandboxes', 'no', UNTESTED, 'untested'],
    ['SandboxClient.delete_sandbox', 'no', UNTESTED, 'untested'],
    ['SandboxClient.delete_all', 'no', UNTESTED, 'untested'],
    ['SandboxClient.get_sandbox_claim_warmpool_name', 'no', UNTESTED, 'untested'],
    ['Sandbox.commands.run', 'yes', RUN],
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
    ['Sandbox.get_pod_name', 'no', UNTESTED, 'untested'],
    ['Sandbox.get_pod_ip', 'no', UNTESTED, 'untested'],
    ['Sandbox.get_sandbox_name_hash', 'no', UNTESTED, 'untested'],
    ['Sandbox.get_service_fqdn', 'no', UNTESTED, 'untested'],
    ['Sandbox.status', 'no', UNTESTED, 'untested'],
    ['Sandbox.is_active', 'no', 'no test shows it; it asks nothing of the installation', 'untested'],
    ['Sandbox.close_connection', 'yes', TUNNEL],
    ['Sandbox.terminate', 'yes', RUN],
    ['AsyncSandboxClient', 'no', 'no test runs it; it sends what SandboxClient sends', 'untested'],
    ['SandboxWithComputerUseSupport.agent', 'no', 'the runtime has no `POST /agent`'],
    ['SandboxWithSnapshotSupport.suspend', 'no', GKE],
    ['SandboxWithSnapshotSupport.resume', 'no', GKE],
    ['SandboxWithSnapshotSupport.restore', 'no', GKE],
    ['SandboxWithSnapshotSupport.is_suspended', 'no', GKE],
    ['SnapshotEngine.create, list, delete, delete_all', 'no', GKE],
  ],
};

export const connections: Table = {
  title: 'Ways to a sandbox',
  what: 'configuration',
  items: [
    ['SandboxDirectConnectionConfig', 'yes', RUN],
    ['SandboxDirectConnectionConfig(extra_headers=)', 'yes', RUN],
    [
      'SandboxDirectConnectionConfig(client_cert=, ca_cert=)',
      'no',
      'no test shows it; the gateway asks no client for a certificate',
      'untested',
    ],
    ['SandboxLocalTunnelConnectionConfig', 'yes', TUNNEL],
    [
      'SandboxGatewayConnectionConfig',
      'no',
      'no test shows it; it needs a Gateway of the Gateway API, which the chart does not make',
      'untested',
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
    ['NewClient', 'no', GO, 'untested'],
    ['Client.CreateSandbox', 'no', GO, 'untested'],
    ['Client.GetSandbox', 'no', GO, 'untested'],
    ['Client.DeleteSandbox', 'no', GO, 'untested'],
    ['Client.DeleteAll', 'no', GO, 'untested'],
    ['Client.EnableAutoCleanup', 'no', GO, 'untested'],
    ['Client.ListActiveSandboxes', 'no', GO, 'untested'],
    ['Client.ListAllSandboxes', 'no', GO, 'untested'],
    ['New', 'no', GO, 'untested'],
    ['Sandbox.Open', 'no', GO, 'untested'],
    ['Sandbox.Close', 'no', GO, 'untested'],
    ['Sandbox.Disconnect', 'no', GO, 'untested'],
    ['Sandbox.IsReady', 'no', GO, 'untested'],
    ['Sandbox.Run, Commands.Run', 'no', GO, 'untested'],
    ['Sandbox.Read, Files.Read', 'no', GO, 'untested'],
    ['Sandbox.Write, Files.Write', 'no', GO, 'untested'],
    ['Sandbox.WriteReader, Files.WriteReader', 'no', GO, 'untested'],
    ['Sandbox.List, Files.List', 'no', GO, 'untested'],
    ['Sandbox.Exists, Files.Exists', 'no', GO, 'untested'],
    ['Sandbox.Delete, Files.Delete', 'no', GO, 'untested'],
    ['Sandbox.Annotations', 'no', GO, 'untested'],
    ['Sandbox.ClaimName', 'no', GO, 'untested'],
    ['Sandbox.SandboxName', 'no', GO, 'untested'],
    ['Sandbox.PodName', 'no', GO, 'untested'],
    ['Sandbox.PodIP', 'no', GO, 'untested'],
    ['K8sHelper.WaitForSandboxReady', 'no', GO, 'untested'],
    ['NewTracerProvider', 'no', 'no test runs the client for Go; it asks nothing of the installation', 'untested'],
  ],
};

export const typescriptClient: Table = {
  title: 'Client for TypeScript',
  what: 'client',
  items: [['agentic-sandbox-client', 'no', 'no test runs it', 'untested']],
};
