import { PassThrough } from 'node:stream';
import { WriteStream } from 'node:tty';
import { describe, expect, it } from 'vitest';
import { consoleProgress, withStep } from './progress.ts';

/** A stream that is like standard error piped into a file, or like a terminal. */
function recording(isTTY: boolean): { stream: WriteStream; text: () => string } {
  const stream = Object.setPrototypeOf(new PassThrough(), WriteStream.prototype) as WriteStream;
  const written: string[] = [];
  stream.write = (chunk: unknown) => written.push(String(chunk)) > 0;
  stream.isTTY = isTTY;
  stream.columns = 80;
  return { stream, text: () => written.join('') };
}

describe('progress on a console', () => {
  it('is a line per start and end where there is no terminal', async () => {
    const { stream, text } = recording(false);
    await withStep(consoleProgress(stream), 'Doing', async (step) => step.update('half'));
    expect(text()).toMatch(/^Doing …\nDoing done after \d+\.\d s\n$/);
  });

  it('is one rewritten line per step on a terminal', async () => {
    const { stream, text } = recording(true);
    await withStep(consoleProgress(stream), 'Doing', async (step) => step.update('half'));
    expect(text().split('\n')).toHaveLength(2);
    expect(text()).toContain('half');
    expect(text()).toMatch(/✓ Doing \d+\.\d s\n$/);
  });

  it('says which step failed and passes the error on', async () => {
    const { stream, text } = recording(false);
    const failing = withStep(consoleProgress(stream), 'Doing', async () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(text()).toContain('Doing failed after');
  });
});
