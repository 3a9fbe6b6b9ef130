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
 * Prints plain text to a stream. A terminal gets one line for the running steps, rewritten every second, and a line for each
 * that ends. Anything else gets a line at the start, a line every 10 s while the step runs, and a line with its duration at
 * the end.
 */
export function createConsoleProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return { startStep: (name) => createLineStep(stream, name) };
  const screen = createTerminalScreen(stream);
  return { startStep: (name) => createTerminalStep(screen, name) };
}

/** The last line of a terminal, which all running steps share. */
interface Screen {
  add(running: () => string): void;
  paint(): void;
  /** Removes the step and prints its last line above those that still run. */
  end(running: () => string, line: string): void;
}

function createTerminalScreen(stream: NodeJS.WriteStream): Screen {
  const steps = new Set<() => string>();
  let timer: NodeJS.Timeout | undefined;
  const paint = (): void => {
    const line = [...steps].map((running) => running()).join('  ');
    stream.write(`\r\x1b[2K${line.slice(0, Math.max(20, stream.columns - 1))}`);
  };
  return {
    paint,
    add: (running) => {
      steps.add(running);
      timer ??= setInterval(paint, repaintMs);
      paint();
    },
    end: (running, line) => {
      steps.delete(running);
      stream.write(`\r\x1b[2K${line}\n`);
      if (steps.size > 0) {
        paint();
      } else {
        clearInterval(timer);
        timer = undefined;
      }
    },
  };
}

function createTerminalStep(screen: Screen, name: string): ProgressStep {
  const elapsed = startStopwatch();
  let detail = '';
  const line = (mark: string) => `${mark} ${name} ${elapsed()}${detail === '' ? '' : `  ${detail}`}`;
  const running = () => line('…');
  const end = (mark: string, text: string | undefined) => {
    detail = text ?? '';
    screen.end(running, line(mark));
  };
  screen.add(running);
  return {
    update: (text) => {
      detail = text;
      screen.paint();
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
