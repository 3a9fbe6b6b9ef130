import type { Table } from '../../model.ts';

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
      'runs the command by a shell; the setting `argv` splits it into words, as agent-sandbox does',
    ],
    ['POST /upload', 'yes', FILES],
    ['GET /download/{path}', 'yes', FILES],
    ['GET /list/{path}', 'yes', FILES],
    ['GET /exists/{path}', 'yes', ['e2e/src/sdk/python/agent_sandbox.py', 'test_write_read_list_and_exists']],
    ['POST /agent', 'no', 'only the example for computer use has it'],
  ],
};

const NOTHING = 'nothing listens on port 8080';
const NO_RPC = 'nothing listens on port 9090';

/** The newer runtime: files over HTTP, processes over gRPC. */
export const sandboxd: Table = {
  title: 'Runtime `sandboxd` on ports 8080 and 9090',
  what: 'route or RPC',
  items: [
    ['GET /v1/files/{path}', 'no', NOTHING],
    ['HEAD /v1/files/{path}', 'no', NOTHING],
    ['PUT /v1/files/{path}', 'no', NOTHING],
    ['DELETE /v1/files/{path}', 'no', `${NOTHING}; clients need it for \`files.delete\``],
    ['GET /v1/health', 'no', NOTHING],
    ['GET /v1/metadata', 'no', NOTHING],
    ['process.v1.ProcessService/Start', 'no', NO_RPC],
    ['process.v1.ProcessService/Execute', 'no', `${NO_RPC}; clients need it for \`run(env=, cwd=)\``],
    ['process.v1.ProcessService/WriteStdin', 'no', NO_RPC],
    ['process.v1.ProcessService/SendSignal', 'no', NO_RPC],
    ['process.v1.ProcessService/ResizeTTY', 'no', NO_RPC],
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
