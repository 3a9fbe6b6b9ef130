import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { describe, expect, it } from 'vitest';
import { createConsoleProgress, withStep } from './progress.ts';

/** Creates a stream that behaves like a terminal, or like standard error piped into a file. */
function createRecordingStream(isTTY: boolean): { stream: WriteStream; text: () => string } {
  const stream = Object.setPrototypeOf(new PassThrough(), WriteStream.prototype) as WriteStream;
  const written: string[] = [];
  stream.write = (chunk: unknown) => written.push(String(chunk)) > 0;
  stream.isTTY = isTTY;
  stream.columns = 80;
  return { stream, text: () => written.join('') };
}

describe('console progress', () => {
  it('prints one line at the start and one at the end without a terminal', async () => {
    const { stream, text } = createRecordingStream(false);
    await withStep(createConsoleProgress(stream), 'Doing', async (step) => step.update('half'));
    expect(text()).toMatch(/^Doing …\nDoing done after \d+\.\d s\n$/);
  });

  it('rewrites one line per step on a terminal', async () => {
    const { stream, text } = createRecordingStream(true);
    await withStep(createConsoleProgress(stream), 'Doing', async (step) => step.update('half'));
    expect(text().split('\n')).toHaveLength(2);
    expect(text()).toContain('half');
    expect(text()).toMatch(/✓ Doing \d+\.\d s\n$/);
  });

  it('shows steps that run at the same time on one line of a terminal', () => {
    const { stream, text } = createRecordingStream(true);
    const progress = createConsoleProgress(stream);
    const [first, second] = [progress.startStep('First'), progress.startStep('Second')];
    expect(text()).toMatch(/… First \d+\.\d s {2}… Second \d+\.\d s$/);
    first.finish();
    expect(text()).toMatch(/✓ First \d+\.\d s\n\r\x1b\[2K… Second \d+\.\d s$/);
    second.finish('all');
    expect(text()).toMatch(/✓ Second \d+\.\d s {2}all\n$/);
  });

  it('names the step that failed and rethrows the error', async () => {
    const { stream, text } = createRecordingStream(false);
    const failing = withStep(createConsoleProgress(stream), 'Doing', async () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(text()).toContain('Doing failed after');
  });
});
