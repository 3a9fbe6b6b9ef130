import { sandboxClaims, sandboxes, sandboxTemplates } from '@sandlot/api-types';
import type { SandboxSpec } from '@sandlot/api-types';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { box } from '../support/boxes.ts';
import { findReadyCondition } from '../support/sandboxes.ts';
import { readAccess } from '../support/sdk/client.ts';
import { openAccount } from '../support/security/account.ts';
import { createTeam, eventually } from '../support/team.ts';
import type { Team } from '../support/team.ts';

const stack = new AsyncDisposableStack();
let team: Team;
/** Of a client with edit rights in the namespace. */
let bearer: string;

beforeAll(async () => {
  team = stack.use(await createTeam('authored'));
  ({ bearer } = stack.use(await openAccount(team.namespace, 'client', 'edit')));
  await Promise.all([
    create('neighbour'),
    create('mine', WITH_DAEMON),
    create('opened', WITH_DAEMON, OPENED),
    claimUnguarded('unguarded'),
  ]);
});
afterAll(() => stack.disposeAsync());

const WITH_DAEMON: Partial<SandboxSpec> = { runtime: { inject: true } };
const OPENED = { env: [{ name: 'SANDLOT_EXEC_OPEN', value: 'true' }] };

/** Creates a Sandbox without a claim, and waits until it is Ready. */
async function create(name: string, spec: Partial<SandboxSpec> = {}, container: object = {}): Promise<void> {
  await team.client.create(sandboxes, box(team.namespace, name, { spec, container }));
  await eventually(`Sandbox ${name} is Ready`, async () => {
    const made = await team.client.get(sandboxes, { namespace: team.namespace, name });
    return findReadyCondition(made)?.status === 'True' ? true : undefined;
  });
}

/** Makes a claim of a template that manages no NetworkPolicy, and waits until it is Ready. */
async function claimUnguarded(name: string): Promise<void> {
  const { spec } = box(team.namespace, name);
  const metadata = { namespace: team.namespace, name };
  await team.client.create(sandboxTemplates, {
    metadata,
    spec: { podTemplate: spec.podTemplate, networkPolicyManagement: 'Unmanaged', ...WITH_DAEMON },
  });
  await team.client.create(sandboxClaims, { metadata, spec: { sandboxTemplateRef: { name } } });
  await eventually(`claim ${name} is Ready`, async () => {
    const { status } = await team.client.get(sandboxClaims, metadata);
    return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') || undefined;
  });
}

const BODY = JSON.stringify({ command: 'echo $((6 * 7))' });
const ANSWER = '"stdout":"42\\n"';

async function readAddress(name: string): Promise<string> {
  const { status } = await team.client.get(sandboxes, { namespace: team.namespace, name });
  return status?.podIPs?.[0] ?? '';
}

interface Call {
  /** The Pod that asks. */
  readonly from: string;
  readonly address: string;
  readonly headers?: readonly string[];
}

/** The answer to a request to port 8888 from inside a Pod, head and body. */
function ask({ from, address, headers = [] }: Call, line: string, body = ''): Promise<string> {
  const head = [line, ...headers, 'Host: x', 'Connection: close', `Content-Length: ${body.length}`];
  // The body has double quotes and a dollar sign, and no single quote.
  const send = `printf '%s\\r\\n' '${[...head, '', body].join("' '")}'`;
  // nc closes its side at the end of its input, and the daemon ends the request of a client that closes.
  return team.sh(from, `{ ${send}; sleep 1; } | nc -w 10 ${address} 8888`);
}

const execute = (call: Call): Promise<string> => ask(call, 'POST /execute HTTP/1.1', BODY);

describe('the agent-sandbox API of a Sandbox without a claim', () => {
  it('runs no command of another Pod, although the Pod reaches the port', async () => {
    const address = await readAddress('mine');
    expect(await ask({ from: 'neighbour', address }, 'GET / HTTP/1.1')).toContain('Sandbox Runtime is active.');
    for (const headers of [[], ['X-Sandlot-Gateway: 1'], [`X-Sandlot-Proof: ${Date.now()};${address};AAAA`]]) {
      const answer = await execute({ from: 'neighbour', address, headers });
      expect(answer).toContain('HTTP/1.1 403');
      expect(answer).not.toContain(ANSWER);
    }
  });

  it('runs those of a client that the gateway lets through, and of code in the Pod itself', async () => {
    const named = { 'X-Sandbox-ID': 'mine', 'X-Sandbox-Namespace': team.namespace, 'Content-Type': 'application/json' };
    const send = async (headers: Readonly<Record<string, string>>): Promise<Response> =>
      fetch(`${(await readAccess()).apiUrl}/execute`, {
        method: 'POST',
        headers: { ...named, ...headers },
        body: BODY,
      });
    const answer = await send({ Authorization: bearer });
    expect([answer.status, await answer.json()]).toEqual([200, { stdout: '42\n', stderr: '', exit_code: 0 }]);
    expect((await send({})).status).toBe(401);
    expect(await execute({ from: 'mine', address: '127.0.0.1' })).toContain(ANSWER);
  });

  it('runs no command of another Pod for a claim of a template without a NetworkPolicy, but those of the gateway', async () => {
    const metadata = { namespace: team.namespace, name: 'unguarded' };
    const { status } = await team.client.get(sandboxClaims, metadata);
    const sandbox = status?.sandbox?.name ?? '';
    const answer = await execute({ from: 'neighbour', address: await readAddress(sandbox) });
    expect(answer).toContain('HTTP/1.1 403');
    expect(answer).toContain('no NetworkPolicy guards this sandbox');
    const named = {
      'X-Sandbox-ID': sandbox,
      'X-Sandbox-Namespace': team.namespace,
      'Content-Type': 'application/json',
    };
    const headers = { ...named, Authorization: bearer };
    const through = await fetch(`${(await readAccess()).apiUrl}/execute`, { method: 'POST', headers, body: BODY });
    expect([through.status, await through.json()]).toEqual([200, { stdout: '42\n', stderr: '', exit_code: 0 }]);
  });

  it('runs those of every Pod when its author opens it', async () => {
    expect(await execute({ from: 'neighbour', address: await readAddress('opened') })).toContain(ANSWER);
  });
});
