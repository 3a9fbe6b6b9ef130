import { sandboxClaims } from '@sandlot/api-types';
import { readEnv } from '@sandlot/up';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { waitForFullPool } from '../support/sandboxes.ts';
import { createAccount } from '../support/sdk/account.ts';
import { CLIENT_OBJECTS, CLIENT_POOL } from '../support/sdk/client-objects.ts';
import { createGateway } from '../support/sdk/gateway-api.ts';
import { runGoClient } from '../support/sdk/go-client.ts';
import { registerPythonTests } from '../support/sdk/python-tests.ts';
import { createTeam } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const stack = new AsyncDisposableStack();
let team: Team;
let gateway: string;
beforeAll(async () => {
  team = stack.use(await createTeam('gateway-api'));
  await team.apply(CLIENT_OBJECTS);
  const { SANDLOT_GATEWAY_URL: target = '' } = await readEnv();
  const made = await createGateway(team, { target, token: await createAccount(team.namespace) });
  gateway = stack.use(made).name;
  await waitForFullPool(team, CLIENT_POOL);
});
afterAll(() => stack.disposeAsync());

describe('the client for Python of agent-sandbox through a Gateway of the Gateway API', () =>
  registerPythonTests('agent_sandbox_gateway', async () => ({
    NAMESPACE: team.namespace,
    POOL: CLIENT_POOL,
    GATEWAY: gateway,
  })));

it('the client for Go of agent-sandbox runs commands through a Gateway of the Gateway API', async () => {
  const { namespace, client } = team;
  const report = await runGoClient({ namespace, pool: CLIENT_POOL, token: '', gateway });
  const { claim, pod } = report.get('create', z.object({ claim: z.string(), pod: z.string() }));
  expect((await client.get(sandboxClaims, { namespace, name: claim })).status?.sandbox?.name).toBe(pod);
  const { short, long } = report.get('run', z.object({ short: z.unknown(), long: z.unknown() }));
  expect(short).toEqual({ stdout: 'out\n', stderr: 'err\n', exit_code: 3 });
  expect(long).toEqual({ stdout: `${pod}\n`, stderr: '', exit_code: 0 });
});
