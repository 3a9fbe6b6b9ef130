import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PodSpec } from '../generated/core.ts';
import { parseMilliCpu } from '../compare/quantity.ts';
import { readCpu, withCpu } from '../rules/inplace-cpu.ts';
import type { Cpu, Resources } from '../rules/inplace-cpu.ts';
import { findResourcesRefusal } from './resources-policy.ts';

const MEMORY = { requests: { memory: '1Gi' }, limits: { memory: '1Gi' } };
const BURSTABLE = { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
const GUARANTEED = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };

const podSpec = (resources: Resources, ...others: Resources[]): PodSpec => ({
  containers: [resources, ...others].map((each, index) => ({
    name: `c${index}`,
    image: 'busybox',
    resources: { requests: { ...each.requests }, limits: { ...each.limits } },
  })),
});

function refusalOf(
  asked: Cpu,
  spec: PodSpec,
  parts: { maxCPU?: string | number; minCPU?: string } = {},
): string | undefined {
  const policy = { maxCPU: 4, ...parts };
  return findResourcesRefusal({ asked, podSpec: spec, policy, mayGetContainer: false });
}

describe('the CPU of a claim', () => {
  it.each<[string, Cpu, PodSpec]>([
    ['a request within the limit of the template', { request: '900m' }, podSpec(BURSTABLE)],
    ['a limit above the request of the template', { limit: '4' }, podSpec(BURSTABLE)],
    ['both, as numbers', { request: 2, limit: 3 }, podSpec(BURSTABLE)],
    ['the same request and limit for a Guaranteed Pod', { request: '2', limit: '2' }, podSpec(GUARANTEED)],
    ['a limit for a template without one', { limit: '2' }, podSpec({ requests: { cpu: '1' } })],
    ['a request for a template with memory alone', { request: '2' }, podSpec(MEMORY)],
    ['what makes one of two containers Guaranteed', { request: '1' }, podSpec(BURSTABLE, BURSTABLE)],
  ])('is allowed with %s', (_, asked, spec) => {
    expect(refusalOf(asked, spec)).toBeUndefined();
  });

  it.each<[string, Cpu, PodSpec, string]>([
    ['a request above maxCPU', { request: '4001m' }, podSpec({}), 'cpu request "4001m" is above maxCPU "4"'],
    ['a limit above maxCPU', { limit: '1k' }, podSpec(BURSTABLE), 'cpu limit "1k" is above maxCPU "4"'],
    ['a part of a thousandth above maxCPU', { limit: '4000001u' }, podSpec(BURSTABLE), 'is above maxCPU'],
    ['less than minCPU', { request: '99m' }, podSpec(BURSTABLE), 'cpu request "99m" is below minCPU "100m"'],
    [
      'a request above its limit',
      { request: '2', limit: '1' },
      podSpec(BURSTABLE),
      'cpu request "2" of the claim is above cpu limit "1" of the claim',
    ],
    [
      'a request above the limit of the template',
      { request: '2' },
      podSpec(BURSTABLE),
      'cpu request "2" of the claim is above cpu limit "1" of the template; ask for both',
    ],
    [
      'a limit below the request of the template',
      { limit: '400m' },
      podSpec(BURSTABLE),
      'cpu request "500m" of the template is above cpu limit "400m" of the claim',
    ],
    [
      'a limit below the request that a limit of the template implies',
      { limit: '1' },
      podSpec({ requests: { memory: '1' }, limits: { cpu: '2' } }),
      'cpu request "2" of the template is above cpu limit "1" of the claim',
    ],
    [
      'anything for a Pod without resources',
      { request: '1' },
      podSpec({}),
      'is BestEffort and would become Burstable, which no running Pod can; set a request of cpu or memory in the template',
    ],
    [
      'a limit alone for a Guaranteed Pod',
      { limit: '2' },
      podSpec(GUARANTEED),
      'is Guaranteed and would become Burstable, which no running Pod can; ask for a cpu request and limit that are the same',
    ],
    [
      'the same request and limit for a Pod that is Burstable by its CPU alone',
      { request: '1' },
      podSpec(BURSTABLE),
      'is Burstable and would become Guaranteed',
    ],
  ])('is refused with %s', (...[name, asked, spec, detail]) => {
    const isAllowedBesides = name.startsWith('the same');
    expect(
      isAllowedBesides ? refusalOf({ request: '1', limit: '1' }, spec) : refusalOf(asked, spec, { minCPU: '100m' }),
    ).toContain(detail);
  });

  it('is refused by a template without a policy, which names what the claim asks for', () => {
    const request = { podSpec: podSpec(BURSTABLE), policy: undefined, mayGetContainer: false };
    expect(findResourcesRefusal({ ...request, asked: { request: '1', limit: 2 } })).toBe(
      'the template has no resourcesOverridePolicy, the claim asks for a cpu request of "1" and a cpu limit of "2"',
    );
  });

  it('counts a container that the daemon may add: such a Pod is never Guaranteed', () => {
    const request = { policy: { maxCPU: 4 }, mayGetContainer: true };
    expect(findResourcesRefusal({ ...request, podSpec: podSpec(GUARANTEED), asked: { limit: '2' } })).toBeUndefined();
    expect(findResourcesRefusal({ ...request, podSpec: podSpec({}), asked: { limit: '2' } })).toContain('BestEffort');
  });

  it('leaves the class of a Pod with resources of its own to those', () => {
    const spec = { ...podSpec({}), resources: { requests: { cpu: '8' }, limits: { cpu: '8' } } };
    expect(refusalOf({ request: '1' }, spec)).toBeUndefined();
  });

  const milli = fc.integer({ min: 1, max: 9_000 }).map((amount) => `${amount}m`);
  const maybe = fc.option(milli, { nil: undefined });
  const cpu = fc.record({ request: maybe, limit: maybe });

  it('never passes maxCPU, nor has a request above the limit, for any template and claim', () => {
    fc.assert(
      fc.property(cpu, cpu, milli, (template, asked, maxCPU) => {
        const resources = withCpu(MEMORY, template);
        if (refusalOf(asked, podSpec(resources), { maxCPU }) !== undefined) return;
        const { request, limit } = readCpu(withCpu(resources, asked));
        for (const each of [asked.request, asked.limit]) {
          expect(parseMilliCpu(each ?? 0)).toBeLessThanOrEqual(parseMilliCpu(maxCPU));
        }
        if (request !== undefined && limit !== undefined)
          expect(parseMilliCpu(request)).toBeLessThanOrEqual(parseMilliCpu(limit));
      }),
    );
  });
});
