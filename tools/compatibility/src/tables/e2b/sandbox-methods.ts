import type { Table } from '../../model.ts';

const LIFE = 'e2e/src/sdk/lifecycle.test.ts';
const SNAPSHOTS = 'services/api/src/e2b/snapshots/snapshots.integration.test.ts';
const SAVED = [SNAPSHOTS, 'are made, listed, started from and deleted'] as const;
const KILLED = [LIFE, 'can be killed once; then it is neither found, running nor listed'] as const;
const URLS = [
  'e2e/src/gateway/domain.test.ts',
  'returns signed URLs that read and write a file until they expire',
] as const;
const SINGLE = 'with a single URL for all sandboxes the URL names none, and gets 400';
const MCP = 'e2e/src/sdk/mcp.test.ts';
const PAUSED = [LIFE, 'keeps its id, variables, processes and lifecycle, and resumes on connect'] as const;

const RUN = 'e2e/src/sdk/commands.test.ts';
const STDIN = [RUN, 'reads stdin until it is closed'] as const;
const LISTED = [RUN, 'is listed with its command, can be killed once, and is reported as killed'] as const;
const ATTACHED = [RUN, 'goes on without its client, and another client can connect'] as const;
const TERMINAL = [RUN, 'shows input and output, can be resized, and can be connected to again'] as const;
const TREE = ['e2e/src/sdk/files.test.ts', 'can be created, listed, read, renamed and removed'] as const;
const FILES = 'e2e/src/sdk/files.test.ts';
const KERNEL = 'e2e/src/sdk/code-interpreter-client.test.ts';
const FULL = 'R and Java are in the template `code-interpreter-full` only';
const CONTEXT = [KERNEL, 'has its own state and folder, is listed, restarted and removed'] as const;
const GIT = ['e2e/src/sdk/git.test.ts', 'git works: init, commit, branches, remotes, push, clone and pull'] as const;
const GIT_UNDO = [
  'e2e/src/sdk/git.test.ts',
  'git resets, restores, keeps its configuration and stores credentials',
] as const;
const PYTHON = 'e2e/src/sdk/python/e2b_client.py';

export const sandboxMethods: Table = {
  title: 'Methods for sandboxes',
  what: 'method',
  items: [
    [
      'Sandbox.create',
      'yes',
      [LIFE, 'returns a sandbox that runs commands at once, with its variables, metadata and lifetime'],
    ],
    ['Sandbox.connect', 'yes', [LIFE, 'can be connected to by its id, with its files']],
    ['Sandbox.list', 'yes', [LIFE, 'returns pages in order, filtered by metadata, state, template and start']],
    ['Sandbox.kill', 'yes', KILLED],
    ['Sandbox.getInfo', 'yes', KILLED],
    [
      'Sandbox.getFullInfo',
      'yes',
      [LIFE, 'returns a sandbox that runs commands at once, with its variables, metadata and lifetime'],
    ],
    [
      'Sandbox.getMetrics',
      'partly',
      [LIFE, 'reports that it runs, and metrics within its limits'],
      'one sample of now: there is no history for `start` and `end`',
    ],
    ['Sandbox.setTimeout', 'yes', [LIFE, 'is extended by setTimeout, and not shortened by connect']],
    [
      'Sandbox.updateNetwork',
      'partly',
      ['e2e/src/tenancy/network.test.ts', 'can be replaced at run time, and stay after a pause'],
      'names need `egress.enabled`, and `rules` `egress.credentials.enabled`',
    ],
    ['Sandbox.pause', 'partly', PAUSED, 'keeps memory only where the template hibernates'],
    ['Sandbox.betaPause', 'partly', PAUSED, 'keeps memory only where the template hibernates'],
    ['Sandbox.createSnapshot', 'partly', SAVED, 'of sandboxes in gVisor, with their memory'],
    ['Sandbox.listSnapshots', 'yes', SAVED],
    ['Sandbox.deleteSnapshot', 'yes', SAVED],
    [
      'Sandbox.fork',
      'partly',
      [
        'e2e/src/sdk/snapshots.test.ts',
        'makes sandboxes of one: each goes on where it was, with its own token, and sees no writes of the others',
      ],
      'of sandboxes in gVisor',
    ],
    ['Sandbox.isRunning', 'yes', KILLED],
    [
      'Sandbox.getHost',
      'yes',
      ['e2e/src/gateway/domain.test.ts', 'reaches ports by the host of getHost over HTTP and WebSockets'],
    ],
    ['Sandbox.uploadUrl', 'partly', URLS, SINGLE],
    ['Sandbox.downloadUrl', 'partly', URLS, SINGLE],
    [
      'Sandbox.getMcpUrl',
      'partly',
      ['e2e/src/gateway/domain.test.ts', 'calls tools of MCP servers at the URL of getMcpUrl'],
      'with a single URL for all sandboxes, headers name the sandbox and the port 50005',
    ],
    [
      'Sandbox.getMcpToken',
      'yes',
      [MCP, 'has a token of its own, which a client that connects later reads from the sandbox'],
    ],
    ['Sandbox.create(idempotency_key=) (Python)', 'yes', [PYTHON, 'test_idempotency_key']],
    [
      'E2B_DEBUG',
      'yes',
      ['e2e/src/sdk/debug.test.ts', 'a client in debug mode works with a local daemon and without an API'],
    ],
  ],
};

export const insideMethods: Table = {
  title: 'Methods for commands, files and code',
  what: 'method',
  items: [
    ['commands.run', 'yes', [RUN, 'returns the whole output of both streams, even when it is long']],
    ['commands.list', 'yes', LISTED],
    ['commands.kill', 'yes', LISTED],
    ['commands.connect', 'yes', ATTACHED],
    ['commands.sendStdin', 'yes', STDIN],
    ['commands.closeStdin', 'yes', [PYTHON, 'test_stdin_by_parts_and_by_stream']],
    ['commands.stream_input (Python)', 'yes', [PYTHON, 'test_stdin_by_parts_and_by_stream']],
    ['handle.wait', 'yes', [RUN, 'can be waited for']],
    ['handle.kill', 'yes', [RUN, 'can be killed by its handle']],
    ['handle.disconnect', 'yes', ATTACHED],
    ['handle.sendStdin', 'yes', STDIN],
    ['handle.closeStdin', 'yes', STDIN],
    ['pty.create', 'yes', TERMINAL],
    ['pty.connect', 'yes', TERMINAL],
    ['pty.sendInput', 'yes', TERMINAL],
    ['pty.resize', 'yes', TERMINAL],
    ['pty.kill', 'yes', [RUN, 'can be killed once']],
    ['pty.stream_input (Python)', 'yes', [PYTHON, 'test_pty']],
    ['files.read', 'yes', [FILES, 'write %s and read the same bytes in every format']],
    ['files.write', 'yes', [FILES, 'write %s and read the same bytes in every format']],
    ['files.writeFiles', 'yes', [FILES, 'write many files at once, with new folders']],
    ['files.list', 'yes', TREE],
    ['files.makeDir', 'yes', TREE],
    ['files.rename', 'yes', TREE],
    ['files.remove', 'yes', TREE],
    ['files.exists', 'yes', TREE],
    ['files.getInfo', 'yes', TREE],
    ['files.watchDir', 'yes', [FILES, 'reports changes of a folder in their order']],
    ['watch.stop', 'yes', [FILES, 'reports nothing after stop']],
    ['watch_dir (Python, polled)', 'yes', [PYTHON, 'test_watch_dir']],
    ['runCode', 'partly', [KERNEL, 'keeps state, returns the value of the last line, and streams output'], FULL],
    ['createCodeContext', 'partly', CONTEXT, FULL],
    ['listCodeContexts', 'yes', CONTEXT],
    ['restartCodeContext', 'yes', CONTEXT],
    ['removeCodeContext', 'yes', CONTEXT],
    ['git.clone', 'yes', GIT],
    ['git.init', 'yes', GIT],
    ['git.remoteAdd', 'yes', GIT],
    ['git.remoteGet', 'yes', GIT],
    ['git.status', 'yes', GIT],
    ['git.branches', 'yes', GIT],
    ['git.createBranch', 'yes', GIT],
    ['git.checkoutBranch', 'yes', GIT],
    ['git.deleteBranch', 'yes', GIT],
    ['git.add', 'yes', GIT],
    ['git.commit', 'yes', GIT],
    ['git.push', 'yes', GIT],
    ['git.pull', 'yes', GIT],
    ['git.configureUser', 'yes', GIT],
    ['git.reset', 'yes', GIT_UNDO],
    ['git.restore', 'yes', GIT_UNDO],
    ['git.setConfig', 'yes', GIT_UNDO],
    ['git.getConfig', 'yes', GIT_UNDO],
    ['git.dangerouslyAuthenticate', 'yes', GIT_UNDO],
  ],
};
