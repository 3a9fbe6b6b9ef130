import { beforeAll, describe, expect, it } from 'vitest';
import { renderReport } from './report.ts';
import { runScenario } from './run.ts';
import type { Result } from './run.ts';
import type { Scenario } from './scenarios.ts';

const silent = (): void => undefined;

/** Small scenarios of the benchmark. The tests check their counts, which are exact, but not their times. */
const SMALL: readonly Scenario[] = [
  { name: 'burst', kind: 'warm', shape: { kind: 'burst', claims: 12 }, pool: 12 },
  { name: 'cold', kind: 'cold', shape: { kind: 'burst', claims: 6 }, pool: 0 },
];
const LIVES = {
  name: 'lives',
  kind: 'coldLife',
  shape: { kind: 'closed', workers: 2, claims: 6 },
  pool: 0,
  dwellMs: 0,
} as const;

describe.each([false, true])('the benchmark of claims, with admission policies: %s', (policies) => {
  const results = new Map<string, Result>();
  beforeAll(async () => {
    const options = { say: silent, warmUp: 4, policies };
    for (const scenario of SMALL) results.set(scenario.name, await runScenario(scenario, options));
  });

  it('counts three writes of the claim-controller for a warm claim, and at most five of all controllers', () => {
    const burst = results.get('burst');
    expect(burst?.warm).toBe(12);
    expect(burst?.controllers['claim-controller'].writesPerClaim).toBe(3);
    expect(burst?.controllerWritesPerClaim).toBeGreaterThan(3);
    expect(burst?.controllerWritesPerClaim).toBeLessThanOrEqual(5);
  });

  it('counts a handful of reconciles for a warm claim', () => {
    const reconciles = results.get('burst')?.controllers['claim-controller'].reconcilesPerClaim;
    expect(reconciles).toBeGreaterThanOrEqual(1);
    expect(reconciles).toBeLessThanOrEqual(6);
  });

  it('serves claims without stock, and counts the writes for it', () => {
    const cold = results.get('cold');
    expect(cold?.warm).toBe(0);
    expect(cold?.controllerWritesPerClaim).toBeGreaterThanOrEqual(5);
    expect(cold?.controllerWritesPerClaim).toBeLessThanOrEqual(9);
  });

  it('times every claim and the floor, and renders a row for each scenario', () => {
    for (const { p50Ms, p90Ms, p99Ms, allReadyMs, floorP50Ms, floorAllReadyMs } of results.values()) {
      for (const time of [p50Ms, p90Ms, p99Ms, allReadyMs, floorP50Ms, floorAllReadyMs]) {
        expect(time).toBeGreaterThan(0);
        expect(time).toBeLessThan(Infinity);
      }
    }
    const report = renderReport([...results.values()]);
    expect(report.match(/^\| burst /gm)).toHaveLength(3);
    expect(report.match(/^\| cold /gm)).toHaveLength(3);
  });
});

it('counts a life to its end, after the answer to its claim', async () => {
  const result = await runScenario(LIVES, { say: silent, warmUp: 0 });
  const { allReadyMs, allGoneMs, floorAllReadyMs, floorAllGoneMs } = result;
  expect(allGoneMs).toBeGreaterThan(allReadyMs);
  expect(floorAllGoneMs).toBeGreaterThan(floorAllReadyMs);
  expect(renderReport([result])).toMatch(/^\| lives +\| +\d+ ms \|/m);
});
