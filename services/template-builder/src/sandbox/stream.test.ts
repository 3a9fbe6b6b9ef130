import { describe, expect, it } from 'vitest';
import { encloseMessage, readEnvelopes } from './envelopes.ts';
import { Lines } from './lines.ts';

async function* inParts(whole: Buffer, size: number) {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size);
}

async function readAll(whole: Buffer, size: number): Promise<unknown[]> {
  const read: unknown[] = [];
  for await (const envelope of readEnvelopes(inParts(whole, size))) read.push(envelope);
  return read;
}

describe('the messages of a Connect stream', () => {
  const end = encloseMessage({});
  end[0] = 2;
  const whole = Buffer.concat([encloseMessage({ a: 'é' }), encloseMessage([]), end]);

  it.each([1, 2, 7, 1_000])('are read from parts of %i bytes', async (size) => {
    expect(await readAll(whole, size)).toEqual([
      { isEnd: false, message: { a: 'é' } },
      { isEnd: false, message: [] },
      { isEnd: true, message: {} },
    ]);
  });

  it('are refused when they break off, are compressed, or are endless', async () => {
    await expect(readAll(whole.subarray(0, -1), 5)).rejects.toThrow('in the middle of a message');
    const compressed = Buffer.from(whole);
    compressed[0] = 1;
    await expect(readAll(compressed, 5)).rejects.toThrow('compressed');
    await expect(readAll(Buffer.from([0, 255, 255, 255, 255]), 5)).rejects.toThrow('too long');
  });
});

describe('the output of a step', () => {
  function cut(...parts: readonly (string | Uint8Array)[]): string[] {
    const lines: string[] = [];
    const cutter = new Lines((line) => lines.push(line));
    for (const part of parts) cutter.add(typeof part === 'string' ? Buffer.from(part) : part);
    cutter.end();
    return lines;
  }

  it('is cut into lines, whatever its parts', () => {
    expect(cut('a', 'b\nc\r\n', '\nd')).toEqual(['ab', 'c', '', 'd']);
    expect(cut(Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1))).toEqual(['é']);
    expect(cut(Buffer.from([0xff, 0x0a]))).toEqual(['\uFFFD']);
  });

  it('never makes a line that fills the memory', () => {
    expect(cut('x'.repeat(20_000)).map(({ length }) => length)).toEqual([8_192, 8_192, 3_616]);
    expect(cut(`${'x'.repeat(8_192)}\n`).map(({ length }) => length)).toEqual([8_192]);
  });
});
