import type { Table } from '../../model.ts';

const ACCESS = 'runtime/e2e/access_test.go';
const FILES = 'runtime/e2e/files_test.go';
const INPUT = 'runtime/e2e/input_test.go';
const PROCESS = 'runtime/e2e/process_test.go';
const TREE = 'runtime/e2e/filesystem_test.go';
const MOVED = [TREE, 'TestDirectoriesAreCreatedMovedAndRemoved'] as const;
const POLLED = ['runtime/e2e/watch_test.go', 'TestAPolledWatcherKeepsChangesUntilTheyAreFetched'] as const;

export const daemonRoutes: Table = {
  title: 'HTTP routes of the daemon, port 49983',
  what: 'route',
  items: [
    ['GET /health', 'yes', ['e2e/src/sdk/lifecycle.test.ts', 'reports that it runs, and metrics within its limits']],
    [
      'GET /metrics',
      'yes',
      ['runtime/internal/metrics/metrics_test.go', 'TestASampleMeasuresTheContainerAndNotTheNode'],
    ],
    ['GET /envs', 'yes', [ACCESS, 'TestOnlyASignedInitIsAccepted']],
    ['GET /files', 'yes', [FILES, 'TestDownloadsSupportRangesConditionsAndGzip']],
    ['POST /files', 'yes', [FILES, 'TestUploadsWriteToTheRequestedPath']],
    ['POST /files/compose', 'yes', [FILES, 'TestComposeJoinsFilesInOrder']],
    [
      'POST /init',
      'partly',
      [ACCESS, 'TestOnlyASignedInitIsAccepted'],
      'only who signs with the key of the installation, or has the present token, may call it',
    ],
  ],
};

export const daemonMethods: Table = {
  title: 'RPCs of the daemon',
  what: 'RPC',
  items: [
    ['process.Process/List', 'yes', [PROCESS, 'TestListReturnsOnlyRunningProcesses']],
    ['process.Process/Start', 'yes', [PROCESS, 'TestAProcessStreamHasTheDocumentedBytes']],
    ['process.Process/Connect', 'yes', [PROCESS, 'TestEverySubscriberGetsFurtherOutputAndTheEnd']],
    ['process.Process/Update', 'yes', [INPUT, 'TestAProcessCanRunInATerminal']],
    ['process.Process/SendInput', 'yes', [INPUT, 'TestInputArrivesInOrderUntilItIsClosed']],
    ['process.Process/StreamInput', 'yes', [INPUT, 'TestStreamInputWritesEachMessageAtOnce']],
    ['process.Process/SendSignal', 'yes', [PROCESS, 'TestASignalReachesTheProcessGroupAndEndsTheWaitForOutput']],
    ['process.Process/CloseStdin', 'yes', [INPUT, 'TestInputArrivesInOrderUntilItIsClosed']],
    ['filesystem.Filesystem/Stat', 'yes', [TREE, 'TestStatDescribesEveryKindOfEntry']],
    ['filesystem.Filesystem/ListDir', 'yes', [TREE, 'TestListDirRespectsTheDepth']],
    ['filesystem.Filesystem/MakeDir', 'yes', MOVED],
    ['filesystem.Filesystem/Move', 'yes', MOVED],
    ['filesystem.Filesystem/Remove', 'yes', MOVED],
    ['filesystem.Filesystem/WatchDir', 'yes', ['runtime/e2e/watch_test.go', 'TestAWatchReportsChangesInOrder']],
    ['filesystem.Filesystem/CreateWatcher', 'yes', POLLED],
    ['filesystem.Filesystem/GetWatcherEvents', 'yes', POLLED],
    ['filesystem.Filesystem/RemoveWatcher', 'yes', POLLED],
  ],
};

const INTERPRETER = 'e2e/src/runtime/code-interpreter.test.ts';
const CONTEXT = [INTERPRETER, 'has its own state, is listed, restarted and deleted'] as const;
const LANGUAGES = 'e2e/src/sdk/code-interpreter-languages.test.ts';
const KEEPS = [LANGUAGES, 'keeps its variables from one execution to the next'] as const;
const FULL = 'in the image `code-interpreter-full`; without it 500: `kernel for … is not in this image`';

export const codeInterpreter: Table = {
  title: 'Code interpreter, port 49999',
  what: 'route or language',
  items: [
    [
      'GET /health',
      'yes',
      [
        'e2e/src/sdk/code-interpreter-client.test.ts',
        'keeps state, returns the value of the last line, and streams output',
      ],
    ],
    ['POST /execute', 'yes', [INTERPRETER, 'streams number, output, result and end as they happen']],
    ['POST /contexts', 'yes', CONTEXT],
    ['GET /contexts', 'yes', CONTEXT],
    ['POST /contexts/{id}/restart', 'yes', CONTEXT],
    ['DELETE /contexts/{id}', 'yes', CONTEXT],
    [
      'python',
      'yes',
      [INTERPRETER, 'keeps its state for the next one, and runs as the user of the sandbox in its home'],
    ],
    ['javascript', 'yes', KEEPS],
    ['typescript', 'yes', KEEPS],
    ['r', 'partly', KEEPS, FULL],
    ['java', 'partly', KEEPS, FULL],
    ['bash', 'yes', KEEPS],
  ],
};
