import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LimitedLog, readLimitedLines, readLogLines } from './lines.ts';
import type { LogLine } from './lines.ts';

const TIME = '2026-01-01T00:00:00.001000000Z';
const MS = Date.parse('2026-01-01T00:00:00.001Z');

async function read(chunks: readonly (string | Buffer)[], limitBytes?: number): Promise<LogLine[]> {
  const stream = async function* (): AsyncGenerator<Buffer> {
    for (const chunk of chunks) yield Buffer.from(chunk);
  };
  const lines: LogLine[] = [];
  const read =
    limitBytes === undefined ? readLogLines(stream()) : readLimitedLines(new LimitedLog(stream(), limitBytes));
  for await (const line of read) lines.push(line);
  return lines;
}

const messages = async (...input: Parameters<typeof read>): Promise<string[]> =>
  (await read(...input)).map(({ message }) => message);

describe('the lines of a log', () => {
  it('are the same however the bytes are divided', async () => {
    const texts = ['one', '', '{"level":"error","message":1}', 'ünïcödé 🙂', ' two  spaces ', '\u001b[31mred\u001b[0m'];
    const bytes = Buffer.from(texts.map((text) => `${TIME} ${text}\n`).join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 12 }), async (cuts) => {
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        expect(await read(chunks)).toEqual(texts.map((message) => ({ ms: MS, message })));
      }),
    );
  });

  it('have what is no text as the sign for that, and never fail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const message = Buffer.from(bytes.filter((byte) => byte !== 0x0a));
        const [line] = await read([Buffer.concat([Buffer.from(`${TIME} `), message, Buffer.from('\n')])]);
        expect(line).toEqual({ ms: MS, message: message.toString('utf8') });
        expect(() => JSON.stringify(line)).not.toThrow();
      }),
    );
  });

  it('that are too long are cut and say so, and only their beginning is kept', async () => {
    let sent = 0;
    const endless = async function* (): AsyncGenerator<Buffer> {
      yield Buffer.from(`${TIME} `);
      for (; sent < 200; sent += 1) yield Buffer.alloc(65_536, 'x');
      yield Buffer.from(`\n${TIME} next\n`);
    };
    const lines: LogLine[] = [];
    for await (const line of readLogLines(endless())) lines.push(line);
    expect(sent).toBe(200);
    const [long = '', next] = lines.map(({ message }) => message);
    expect(long).toMatch(/^x+ … \[cut: the line has more than 16384 bytes\]$/);
    expect(long.length).toBeLessThan(16_384 + 60);
    expect(next).toBe('next');
  });

  it('leave out the millisecond that a limit of bytes divides, unless there is no other', async () => {
    const later = TIME.replace('.001', '.002');
    const text = `${TIME} whole\n${later} a\n${later} half`;
    expect(await messages([text], text.length)).toEqual(['whole']);
    expect(await messages([text], text.length + 1)).toEqual(['whole', 'a', 'half']);
    const only = `${TIME} a\n${TIME} half`;
    expect(await messages([only], only.length)).toEqual(['a', 'half']);
  });

  it('that have no time are the words of the node, and left out', async () => {
    expect(await messages([`unable to retrieve container logs\n${TIME} a\nfailed to open\n`])).toEqual(['a']);
  });
});
