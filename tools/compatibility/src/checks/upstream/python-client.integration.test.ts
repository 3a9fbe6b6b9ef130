import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePython } from '@sandlot/local-cluster';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connections, pythonMethods } from '../../tables/agent-sandbox/clients.ts';
import { claimWords, sandboxWords } from '../../tables/agent-sandbox/conditions.ts';
import { sandboxd } from '../../tables/agent-sandbox/runtimes.ts';
import { listNames, listUncovered } from './coverage.ts';

const run = promisify(execFile);
/** The packages of the end-to-end tests. */
const REQUIREMENTS = join(import.meta.dirname, '../../../../../e2e/src/sdk/python/requirements.txt');
const names = z.array(z.string()).min(1);
const inventory = z.object({ methods: z.record(z.string(), z.array(z.string())), reasons: names, calls: names });

let client: z.output<typeof inventory>;
beforeAll(async () => {
  const python = join(await ensurePython(REQUIREMENTS), 'python');
  const { stdout } = await run(python, ['-B', join(import.meta.dirname, 'python_client.py')]);
  client = inventory.parse(JSON.parse(stdout));
}, 600_000);

describe('what the client for Python of agent-sandbox has is in a table', () => {
  it('its classes, methods and configurations, and the options of those whose options rows name', () => {
    expect(client.methods).toHaveProperty(['SandboxClient.create_sandbox']);
    expect(client.methods).toHaveProperty('SandboxGatewayConnectionConfig');
    expect(listUncovered(client.methods, listNames([pythonMethods, connections]))).toEqual([]);
  });

  it('the reasons on which it stops to wait', () => {
    const listed = listNames([claimWords, sandboxWords]);
    expect(client.reasons.filter((reason) => !listed.has(reason))).toEqual([]);
  });

  it('the calls that it makes to sandboxd', () => {
    expect(client.calls.filter((call) => !listNames([sandboxd]).has(call))).toEqual([]);
  });
});
