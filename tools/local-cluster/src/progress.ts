/** A running step. The caller ends it with `done` or `fail`. */
export interface ProgressStep {
  /** Sets the text that describes the current activity. */
  update(text: string): void;
  finish(text?: string): void;
  fail(text?: string): void;
}

/** Where long operations report their progress. The caller decides how it looks. */
export interface Progress {
  startStep(name: string): ProgressStep;
}

/** Runs `work` as one step, which ends as `done` or as `fail` with it. */
export async function withStep<T>(
  progress: Progress,
  name: string,
  work: (step: ProgressStep) => Promise<T>,
): Promise<T> {
  const step = progress.startStep(name);
  try {
    const result = await work(step);
    step.finish();
    return result;
  } catch (error) {
    step.fail();
    throw error;
  }
}

const silentStep: ProgressStep = { update: () => undefined, finish: () => undefined, fail: () => undefined };

/** Reports nothing. For tests. */
export const silentProgress: Progress = { startStep: () => silentStep };

const heartbeatMs = 10_000;
const repaintMs = 1_000;

/**
 * Prints plain text to a stream. A terminal gets one line per step, rewritten every second. Anything else gets a line at
 * the start, a line every 10 s while the step runs, and a line with its duration at the end.
 */
export function createConsoleProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  return { startStep: (name) => (stream.isTTY ? createTerminalStep(stream, name) : createLineStep(stream, name)) };
}

function createTerminalStep(stream: NodeJS.WriteStream, name: string): ProgressStep {
  const elapsed = startStopwatch();
  let detail = '';
  const line = (mark: string) => `${mark} ${name} ${elapsed()}${detail === '' ? '' : `  ${detail}`}`;
  const paint = () => stream.write(`\r\x1b[2K${line('…').slice(0, Math.max(20, stream.columns - 1))}`);
  const timer = setInterval(paint, repaintMs);
  paint();
  const end = (mark: string, text: string | undefined) => {
    clearInterval(timer);
    detail = text ?? '';
    stream.write(`\r\x1b[2K${line(mark)}\n`);
  };
  return {
    update: (text) => {
      detail = text;
      paint();
    },
    finish: (text) => end('✓', text),
    fail: (text) => end('✗', text),
  };
}

function createLineStep(stream: NodeJS.WriteStream, name: string): ProgressStep {
  const elapsed = startStopwatch();
  let detail = '';
  const suffix = () => (detail === '' ? '' : `: ${detail}`);
  stream.write(`${name} …\n`);
  const timer = setInterval(() => stream.write(`${name} … ${elapsed()}${suffix()}\n`), heartbeatMs);
  const end = (verdict: string, text: string | undefined) => {
    clearInterval(timer);
    detail = text ?? '';
    stream.write(`${name} ${verdict} after ${elapsed()}${suffix()}\n`);
  };
  return {
    update: (text) => {
      detail = text;
    },
    finish: (text) => end('done', text),
    fail: (text) => end('failed', text),
  };
}

function startStopwatch(): () => string {
  const startedAt = performance.now();
  return () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
}
