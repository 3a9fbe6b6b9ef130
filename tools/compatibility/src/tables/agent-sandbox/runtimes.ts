import type { Table } from '../../model.ts';

/** Both runtimes of agent-sandbox hand on their whole environment. */
export const CONTAINER_VARIABLES =
  'a command has the variables of its claim, and none that the template sets for its container';
const API = 'runtime/e2e/execapi_test.go';
const FILES = [API, 'TestUploadDownloadAndListUsePathsBelowTheBase'] as const;

/** The API of the runtime in Python, on port 8888. */
export const legacyRuntime: Table = {
  title: 'Runtime on port 8888',
  what: 'route',
  items: [
    ['GET /', 'yes', [API, 'TestTheRootOfTheAgentSandboxAPIReportsThatItIsActive']],
    [
      'POST /execute',
      'partly',
      [API, 'TestExecuteRunsACommandAndReturnsItsOutputAndExitCode'],
      `runs the command by a shell; the setting \`argv\` splits it into words, as agent-sandbox does; ${CONTAINER_VARIABLES}`,
    ],
    ['POST /upload', 'yes', FILES],
    ['GET /download/{path}', 'yes', FILES],
    ['GET /list/{path}', 'yes', FILES],
    ['GET /exists/{path}', 'yes', ['e2e/src/sdk/python/agent_sandbox.py', 'test_write_read_list_and_exists']],
    ['POST /agent', 'no', 'only the example for computer use has it'],
  ],
};

const SANDBOXD_FILES = 'runtime/e2e/sandboxd_files_test.go';
const SANDBOXD_PROCESSES = 'runtime/e2e/sandboxd_processes_test.go';
const WRITTEN = [SANDBOXD_FILES, 'TestFilesOfSandboxdAreWrittenReadListedAndRemoved'] as const;
const METADATA = [SANDBOXD_FILES, 'TestMetadataOfSandboxdIsOfTheSandboxAndHasNoSecret'] as const;
const STREAMED = [SANDBOXD_PROCESSES, 'TestAProcessOfSandboxdStreamsItsOutputAndTakesInput'] as const;

/** The newer runtime: files over HTTP, processes over gRPC. */
export const sandboxd: Table = {
  title: 'Runtime `sandboxd` on ports 8080 and 9090',
  what: 'route or RPC',
  items: [
    ['GET /v1/files/{path}', 'yes', WRITTEN],
    ['HEAD /v1/files/{path}', 'yes', WRITTEN],
    [
      'PUT /v1/files/{path}',
      'partly',
      [SANDBOXD_FILES, 'TestFilesOfSandboxdOutsideTheBaseAreForbidden'],
      'a symlink is replaced, and not followed',
    ],
    [
      'DELETE /v1/files/{path}',
      'partly',
      [SANDBOXD_FILES, 'TestFilesOfSandboxdOutsideTheBaseAreForbidden'],
      'a symlink itself is removed, and not what it names',
    ],
    ['GET /v1/health', 'yes', METADATA],
    ['GET /v1/metadata', 'yes', METADATA],
    ['process.v1.ProcessService/Start', 'partly', STREAMED, CONTAINER_VARIABLES],
    [
      'process.v1.ProcessService/Execute',
      'partly',
      [SANDBOXD_PROCESSES, 'TestExecuteOfSandboxdBoundsMessagesAndOutput'],
      `stdout and stderr are cut after 16 MiB each, with a note; ${CONTAINER_VARIABLES}`,
    ],
    ['process.v1.ProcessService/WriteStdin', 'yes', STREAMED],
    ['process.v1.ProcessService/SendSignal', 'yes', [SANDBOXD_PROCESSES, 'TestSignalsReachAProcessOfSandboxd']],
    ['process.v1.ProcessService/ResizeTTY', 'yes', [SANDBOXD_PROCESSES, 'TestAProcessOfSandboxdRunsInATerminal']],
  ],
};

const GATEWAY = 'services/gateway/src/access/access.integration.test.ts';
const TOKEN = [GATEWAY, 'need a token on the public port whose user may create sandboxes/connect'] as const;
const ERRORS = [GATEWAY, 'get errors in the format of agent-sandbox'] as const;

export const router: Table = {
  title: 'Headers of the router',
  what: 'header',
  items: [
    ['X-Sandbox-ID', 'yes', TOKEN],
    ['X-Sandbox-Namespace', 'yes', TOKEN],
    ['X-Sandbox-Port', 'yes', ERRORS],
    ['X-Sandbox-Timeout', 'yes', ERRORS],
    ['X-Sandbox-UID', 'yes', ERRORS],
    [
      'X-Sandbox-Pod-IP',
      'partly',
      [GATEWAY, 'cannot send the gateway to an address with X-Sandbox-Pod-IP'],
      'counts only if it is an address of that Sandbox',
    ],
  ],
};
