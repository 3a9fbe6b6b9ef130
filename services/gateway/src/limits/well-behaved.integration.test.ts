import type { RequestListener } from 'node:http';
import { annotations } from '@sandlot/api-types';
import { systemClock } from '@sandlot/std';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareUnderAttack } from '../../test/attack.ts';
import type { Doors } from '../../test/attack.ts';
import { startSandboxServer } from '../../test/client.ts';
import { GatewayHarness } from '../../test/harness.ts';
import type { TestSandbox } from '../../test/harness.ts';

let harness: GatewayHarness;
let sandbox: TestSandbox;
let sleeping: TestSandbox;
let token: string;
beforeAll(async () => {
  harness = await GatewayHarness.start();
  sandbox = await harness.createSandbox();
  sleeping = await harness.createSandbox({ claimAnnotations: { [annotations.autoResume]: 'true' } });
  await harness.suspend(sleeping, 'API');
  token = await createToken();
});
afterAll(() => harness[Symbol.asyncDispose]());

/** The token of a user who may talk to sandboxes of team-a. */
async function createToken(): Promise<string> {
  const kubectl = async (...args: string[]) => (await harness.plane.kubectl(['-n', 'team-a', ...args])).stdout.trim();
  await kubectl('create', 'serviceaccount', 'friend');
  await kubectl('create', 'role', 'talker', '--verb=create', '--resource=sandboxes.agents.x-k8s.io/connect');
  await kubectl('create', 'rolebinding', 'talker', '--role=talker', '--serviceaccount=team-a:friend');
  return kubectl('create', 'token', 'friend');
}

/** A short command: what the gateway adds to it is what an attack may at most double. */
const work: RequestListener = (_, response) => {
  void systemClock.sleep(50).then(() => response.end('done'));
};

const LIMIT = 2;

describe('a well-behaved client keeps its p99 within twice of what it is without', () => {
  const routed = () => ({ 'X-Sandbox-ID': sandbox.name, 'X-Sandbox-Namespace': 'team-a', 'X-Sandbox-Port': '8080' });
  it.each<[string, () => Omit<Doors, 'port'>]>([
    [
      'a client that makes up sandbox ids',
      () => ({
        attack: { kind: 'send', headers: { 'E2b-Sandbox-Id': 'madeup#', 'E2b-Sandbox-Port': '8080' } },
        honest: { Host: harness.buildHost(sandbox, 8080) },
      }),
    ],
    [
      'a client that makes up tokens',
      () => ({
        attack: { kind: 'send', headers: { ...routed(), Authorization: 'Bearer garbage#' } },
        honest: { ...routed(), Authorization: `Bearer ${token}` },
      }),
    ],
    [
      '455 requests with bodies that wait for one sandbox',
      () => ({
        attack: { kind: 'wait', headers: { Host: harness.buildHost(sleeping, 8080) } },
        honest: { Host: harness.buildHost(sandbox, 8080) },
      }),
    ],
    [
      '1,000 connections with heads that do not end',
      () => ({ attack: { kind: 'drip', headers: {} }, honest: { Host: harness.buildHost(sandbox, 8080) } }),
    ],
  ])('%s', async (_, doors) => {
    await startSandboxServer(sandbox.address, work);
    const { statuses, slowdown, ...measured } = await compareUnderAttack(
      { port: harness.port, ...doors() },
      work,
      LIMIT,
    );
    expect(statuses).toEqual(new Set([200]));
    expect(slowdown, JSON.stringify(measured)).toBeLessThan(LIMIT);
  });
});
