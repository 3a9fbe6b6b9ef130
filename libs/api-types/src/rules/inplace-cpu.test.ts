import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findAskedCpu, formatCpu, hasCpu, parseCpu, readCpu, withCpu } from './inplace-cpu.ts';
import type { Cpu } from './inplace-cpu.ts';

const quantity = fc.oneof(
  fc.integer({ min: 1, max: 100 }),
  fc.constantFrom('1', '500m', '0.5', '1.25', '1e3m', '2k', '100000n'),
);
const cpu = fc.record({
  request: fc.option(quantity, { nil: undefined }),
  limit: fc.option(quantity, { nil: undefined }),
});

describe('the text of a CPU', () => {
  it('gives back what it was made from', () => {
    fc.assert(
      fc.property(cpu, (asked) => {
        const read = parseCpu(formatCpu(asked));
        const text = (each: string | number | undefined): string | undefined => each?.toString();
        expect([read.request, read.limit]).toEqual([text(asked.request), text(asked.limit)]);
      }),
    );
  });

  it.each(['', 'x', 'request', '=', 'request=,limit=', 'limit=1=2,,'])('is read without an error: %j', (text) => {
    expect(() => hasCpu({}, parseCpu(text))).not.toThrow();
  });
});

describe('resources with the CPU of a claim', () => {
  it('have what was asked for, and everything else as it was', () => {
    fc.assert(
      fc.property(cpu, cpu, (before, asked) => {
        const memory = { requests: { memory: '1Gi' }, limits: { memory: '2Gi' } };
        const after = withCpu(withCpu(memory, before), asked);
        expect(hasCpu(readCpu(after), asked)).toBe(true);
        expect([after.requests?.['memory'], after.limits?.['memory']]).toEqual(['1Gi', '2Gi']);
      }),
    );
  });

  it('keep the request that the API server made of a limit', () => {
    expect(withCpu({ limits: { cpu: 1 } }, { limit: 2 })).toEqual({ requests: { cpu: 1 }, limits: { cpu: 2 } });
  });
});

describe('a container', () => {
  it.each<[string, Cpu, Cpu, boolean]>([
    ['has nothing asked for', {}, {}, true],
    ['has the same in another spelling', { request: '500m' }, { request: '0.5' }, true],
    ['has more than is asked about', { request: 1, limit: '2' }, { limit: 2 }, true],
    ['has none', {}, { request: 1 }, false],
    ['has another request', { request: 1, limit: 2 }, { request: 2, limit: 2 }, false],
    ['has what rounds up to the same thousandth', { limit: '100m' }, { limit: '99900u' }, true],
  ])('%s', (...[, present, asked, wanted]) => {
    expect(hasCpu(present, asked)).toBe(wanted);
  });
});

describe('a claim', () => {
  it.each([
    ['without a change', undefined, undefined],
    ['with an image alone', { image: 'a' }, undefined],
    ['with a limit', { resources: { limits: { cpu: 2 } } }, { request: undefined, limit: 2 }],
  ])('%s asks for that CPU', (_, inplaceUpdate, wanted) => {
    expect(findAskedCpu({ spec: { ...(inplaceUpdate === undefined ? {} : { inplaceUpdate }) } })).toEqual(wanted);
  });
});
