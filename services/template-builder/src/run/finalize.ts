import { buildReasons } from '@sandlot/api-types';
import type { BuildState } from '@sandlot/template-build';
import type { BuildSandbox } from '../sandbox/build-sandbox.ts';
import { BuildFailure } from './build-failure.ts';
import type { BuildRequest, BuildTools } from './build-run.ts';

const READY_EVERY_MS = 2_000;
const READY_LIMIT_MS = 600_000;
/** How long a start command without a ready command has. */
const START_MS = 20_000;

/** Runs the start command and waits until the ready command agrees, so that a template that cannot start fails here. */
export async function finalize(
  { sandbox, log, clock }: Pick<BuildTools, 'log' | 'clock'> & { readonly sandbox: BuildSandbox },
  { startCommand, readyCommand }: Pick<BuildRequest, 'startCommand' | 'readyCommand'>,
  { state, signal }: { readonly state: BuildState; readonly signal: AbortSignal },
): Promise<void> {
  await log.add('info', '[finalize] Finalizing template build', 'finalize');
  if (startCommand === undefined && readyCommand === undefined) return;
  const shell = (command: string) => ({
    program: '/bin/bash',
    args: ['-l', '-c', command],
    user: state.user,
    workdir: state.workdir,
    env: state.env,
  });
  const over = new AbortController();
  const running = AbortSignal.any([signal, over.signal]);
  let started: Promise<unknown> = Promise.resolve();
  if (startCommand !== undefined) {
    await log.add('info', `Running start command: ${startCommand}`, 'finalize');
    const onLine = (line: string, stream: string): void =>
      log.addOutput('info', `[start] [${stream}]: ${line}`, 'finalize');
    started = sandbox.run({ ...shell(startCommand), onLine }, running).catch(() => undefined);
  }
  try {
    if (readyCommand === undefined) await clock.sleep(START_MS, signal);
    else await waitUntilReady();
    await log.add('info', 'Template is ready', 'finalize');
  } finally {
    over.abort();
    await started;
  }

  async function waitUntilReady(): Promise<void> {
    await log.add('info', `Waiting for template to be ready: ${readyCommand ?? ''}`, 'finalize');
    const endMs = clock.now() + READY_LIMIT_MS;
    for (;;) {
      const { isSuccess } = await sandbox.run(shell(readyCommand ?? 'true'), signal);
      if (isSuccess) return;
      if (clock.now() + READY_EVERY_MS > endMs)
        throw new BuildFailure(buildReasons.stepFailed, 'ready command timed out after 10m0s', 'finalize');
      await clock.sleep(READY_EVERY_MS, signal);
    }
  }
}
