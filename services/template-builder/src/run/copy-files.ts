import { buildReasons } from '@sandlot/api-types';
import { resolveDestination } from '@sandlot/template-build';
import type { BuildState, InstructionOf } from '@sandlot/template-build';
import type { BuildSandbox } from '../sandbox/build-sandbox.ts';
import { PlaneError } from '../plane/plane.ts';
import type { ImagePlane } from '../plane/plane.ts';
import { BuildFailure } from './build-failure.ts';
import type { StepName } from './build-failure.ts';
import type { BuildRequest } from './build-run.ts';

const PROGRAM = '/.sandlot/bin/sandlot-runtime';
const ARCHIVE = '/.sandlot-build/files';

interface CopyOptions {
  readonly sandbox: BuildSandbox;
  readonly plane: Pick<ImagePlane, 'openFiles'>;
  readonly request: Pick<BuildRequest, 'filesRepository'>;
  readonly signal: AbortSignal;
}

/** Unpacks an uploaded archive in the sandbox: it is the tenant's, and no process of ours reads it. */
export async function copyFiles(
  { sandbox, plane, request, signal }: CopyOptions,
  { source, destination, owner, mode, filesHash }: InstructionOf<'copy'>,
  { state, step }: { readonly state: BuildState; readonly step: StepName },
): Promise<void> {
  await sandbox.upload(ARCHIVE, await openFiles(plane, { request, filesHash, step, signal }), signal);
  const { from, path } = resolveDestination(state, destination);
  const args = [
    ...['unpack', '--archive', ARCHIVE, '--source', source, '--destination', path],
    ...(from === 'home' ? ['--home-of', state.user] : []),
    ...['--owner', owner ?? `${state.user}:${state.user}`],
    ...(mode === undefined ? [] : ['--mode', mode]),
  ];
  let last = '';
  const onLine = (line: string): void => void (last = line);
  const command = { program: PROGRAM, args, user: 'root', workdir: '/', onLine };
  const { isSuccess, status } = await sandbox.run(command, signal);
  if (!isSuccess) throw new BuildFailure(buildReasons.stepFailed, last === '' ? status : last, step);
}

interface Wanted {
  readonly request: Pick<BuildRequest, 'filesRepository'>;
  readonly filesHash: string;
  readonly step: StepName;
  readonly signal: AbortSignal;
}

async function openFiles(plane: CopyOptions['plane'], { request, filesHash, step, signal }: Wanted) {
  try {
    return await plane.openFiles({ repository: request.filesRepository, filesHash }, signal);
  } catch (error) {
    if (!(error instanceof PlaneError) || error.isPassing) throw error;
    const problem = `the files of this COPY were not uploaded, or are gone: ${error.message}`;
    throw new BuildFailure(buildReasons.stepFailed, problem, step);
  }
}
