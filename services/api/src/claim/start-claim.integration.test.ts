// The lifetime of a sandbox counts from the answer to its create.
import { annotations, sandboxClaims } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Stack } from '../../test/stack.ts';
import type { ApiUnderTest } from '../../test/stack.ts';

let stack: Stack;
let api: ApiUnderTest;
let apiKey: string;
beforeAll(async () => {
  stack = await Stack.start();
  api = await stack.api();
  apiKey = await stack.key({ namespace: 'team-a' });
});
beforeEach(() => {
  stack.standIn.mayServe = () => Promise.resolve();
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await stack[Symbol.asyncDispose]();
});

async function create(options: {
  readonly timeoutMs: number;
  readonly onTimeout?: 'kill' | 'pause';
}): Promise<Sandbox> {
  const { timeoutMs, onTimeout = 'kill' } = options;
  return Sandbox.create('base', { apiKey, apiUrl: api.url, sandboxUrl: api.url, timeoutMs, lifecycle: { onTimeout } });
}

async function readClaim(name: string): Promise<SandboxClaim> {
  return stack.client.get(sandboxClaims, { namespace: 'team-a', name });
}

function getEndMs({ metadata }: SandboxClaim): number {
  return Date.parse(metadata.annotations?.[annotations.endAt] ?? '');
}

describe('the lifetime of a sandbox', () => {
  it.each(['kill', 'pause'] as const)(
    'of 1 s counts from Ready, however long the start takes: %s',
    async (onTimeout) => {
      const gate = Promise.withResolvers<undefined>();
      const arrived = Promise.withResolvers<SandboxClaim>();
      stack.standIn.mayServe = (claim) => {
        arrived.resolve(claim);
        return gate.promise;
      };
      const creating = create({ timeoutMs: 1_000, onTimeout });
      const before = await arrived.promise;
      const name = before.metadata.name ?? '';
      const isLater = async (): Promise<void> =>
        expect(getEndMs(await readClaim(name))).toBeGreaterThan(getEndMs(before));
      await vi.waitFor(isLater, { timeout: 40_000, interval: 200 });
      const readyMs = Date.now();
      gate.resolve(undefined);
      const sandbox = await creating;
      const answeredMs = Date.now();
      const claim = await readClaim(name);
      expect(getEndMs(claim)).toBeGreaterThanOrEqual(readyMs + 1_000);
      expect(getEndMs(claim)).toBeLessThanOrEqual(answeredMs + 2_000);
      expect(claim.spec.lifecycle?.shutdownTime).toBe(
        onTimeout === 'kill' ? claim.metadata.annotations?.[annotations.endAt] : undefined,
      );
      expect(claim.metadata.annotations?.[annotations.timeoutSeconds]).toBe('1');
      expect(sandbox.sandboxId).toBe(name);
    },
  );

  it('costs no further write after a quick start', async () => {
    const { sandboxId } = await create({ timeoutMs: 300_000 });
    const { metadata } = await readClaim(sandboxId);
    expect(metadata.generation).toBe(1);
  });
});
