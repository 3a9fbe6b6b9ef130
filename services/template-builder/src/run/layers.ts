import { z } from 'zod';
import type { BuildSandbox } from '../sandbox/build-sandbox.ts';
import { SandboxLost } from '../sandbox/build-sandbox.ts';
import type { ImagePlane, Layer } from '../plane/plane.ts';
import type { BuildRequest } from './build-run.ts';

/** The program of the daemon, which also notes and collects changes, and a folder on its disk that is no part of the image. */
const PROGRAM = '/.sandlot/bin/sandlot-runtime';
const INDEX = '/.sandlot-build/index';
const LAYER = '/.sandlot-build/layer';

const summary = z.object({ entries: z.number(), bytes: z.number() });

interface CaptureOptions {
  readonly sandbox: BuildSandbox;
  readonly plane: Pick<ImagePlane, 'pushLayer'>;
  readonly request: Pick<BuildRequest, 'cacheRepository'>;
  readonly signal: AbortSignal;
}

/** Notes every file of the sandbox. */
export async function beginCapture({ sandbox, signal }: Pick<CaptureOptions, 'sandbox' | 'signal'>): Promise<void> {
  await runTool(sandbox, ['layer', 'scan', '--index', INDEX], signal);
}

/** Writes what has changed since the last time as a layer, which pushChanges has to read before the next call. False: nothing has. */
export async function collectChanges({
  sandbox,
  signal,
}: Pick<CaptureOptions, 'sandbox' | 'signal'>): Promise<boolean> {
  const { entries } = await runTool(sandbox, ['layer', 'diff', '--index', INDEX, '--out', LAYER], signal);
  return entries > 0;
}

/** Pushes the layer that was written last. */
export async function pushChanges({ sandbox, plane, request, signal }: CaptureOptions): Promise<Layer> {
  return plane.pushLayer(request.cacheRepository, await sandbox.download(LAYER, signal), signal);
}

async function runTool(
  sandbox: BuildSandbox,
  args: readonly string[],
  signal: AbortSignal,
): Promise<z.output<typeof summary>> {
  // Of output that may be hostile, no more than two lines are kept.
  let [last, answer] = ['', 'null'];
  const onLine = (line: string): void => {
    last = line;
    if (line.startsWith('{')) answer = line;
  };
  const command = { program: PROGRAM, args, user: 'root', workdir: '/', onLine };
  const { isSuccess, status } = await sandbox.run(command, signal);
  const { data } = summary.safeParse(parseLine(answer));
  // The steps run as root and may have broken it. Another attempt begins with a fresh sandbox.
  if (!isSuccess || data === undefined) {
    throw new SandboxLost(`the files of the sandbox cannot be read: ${last === '' ? status : last}`);
  }
  return data;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
