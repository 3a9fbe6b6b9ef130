import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLines } from './lines.ts';

async function listLines(chunks: readonly Buffer[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(getChunks(chunks))) lines.push(line);
  return lines;
}

async function* getChunks(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** Cuts the bytes at the given fractions of their length. */
function cut(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const at = [...shares.map((share) => Math.floor(share * bytes.length)), bytes.length].sort((a, b) => a - b);
  return at.map((end, n) => bytes.subarray(at[n - 1] ?? 0, end));
}

describe('readLines', () => {
  it('yields the same lines for any chunk boundaries, even inside characters', async () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' '));
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }));
    await fc.assert(
      fc.asyncProperty(fc.array(line), shares, async (lines, at) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''));
        expect(await listLines(cut(bytes, at))).toEqual(lines.map((text) => Buffer.from(text).toString()));
      }),
    );
  });

  it('joins a four-byte character that arrives byte by byte', async () => {
    const bytes = Buffer.from('"🏖"\n');
    const bytewise = Array.from(bytes, (byte) => Buffer.from([byte]));
    expect(await listLines(bytewise)).toEqual(['"🏖"']);
  });

  it('drops an incomplete last line', async () => {
    expect(await listLines([Buffer.from('{}\n{"type":"ADD')])).toEqual(['{}']);
  });
});
