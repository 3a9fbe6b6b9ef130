import { annotations, formatEgressText, formatStoredHeadersName } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { KubeError, secrets } from '@sandlot/kube';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { silentLogger } from '@sandlot/std';
import { expect, it, onTestFinished } from 'vitest';
import { noSandbox } from '../../errors/api-error.ts';
import { addHeaderValues, storeRules } from '../../vault/stored-headers.ts';
import type { StoredRules } from '../../vault/stored-headers.ts';
import { replaceStored } from './replace-stored.ts';

const NOW = Date.UTC(2026, 0, 1);
const store = (value: string): StoredRules => storeRules([{ host: 'a.example', headers: [['A', value]] }], NOW);
const [before, after, foreign] = [store('before'), store('after'), store('foreign')];
const late = new KubeError({ message: 'no answer', code: 'Timeout', verb: 'mergePatch', resource: 'x', key: 'y' });

const claim: SandboxClaim = {
  metadata: {
    namespace: 'team-a',
    name: 'box',
    uid: 'u1',
    annotations: { [annotations.network]: formatEgressText({ allowOut: [], denyOut: [], rules: before.rules }) },
  },
  spec: { warmPoolRef: { name: 'base' } },
};

/** A claim with stored values, and those that another request has just added. */
async function setup() {
  const server = await startFakeApiServer({ resources: [secrets] });
  onTestFinished(() => server.stop());
  const deps = { client: server.client(), vaultNamespace: 'vault', log: silentLogger };
  for (const { values } of [before, foreign]) await addHeaderValues(deps, claim, values);
  const list = (): readonly string[] => {
    const secret = server.object(secrets, { namespace: 'vault', name: formatStoredHeadersName(claim.metadata) });
    return Object.values(secret?.data ?? {}).map((value) => Buffer.from(value, 'base64').toString());
  };
  const replace = (write: Parameters<typeof replaceStored>[2]) =>
    replaceStored(deps, { claim, values: after.values }, write);
  return { server, list, replace };
}

it('new values are there before the claim names them, and old ones go after, but those of another request stay', async () => {
  const { list, replace } = await setup();
  await replace((onReplaced) => {
    expect(list().toSorted()).toEqual(['after', 'before', 'foreign']);
    onReplaced(claim);
    return Promise.resolve();
  });
  expect(list().toSorted()).toEqual(['after', 'foreign']);
});

it('a change that is refused leaves the values as they were', async () => {
  const { list, replace } = await setup();
  await expect(replace(() => Promise.reject(noSandbox('box')))).rejects.toMatchObject({ status: 404 });
  expect(list().toSorted()).toEqual(['before', 'foreign']);
});

it('a change whose outcome is unknown keeps old and new values, because the claim may name either', async () => {
  const { list, replace } = await setup();
  await expect(replace(() => Promise.reject(late))).rejects.toBe(late);
  expect(list().toSorted()).toEqual(['after', 'before', 'foreign']);
});

it('values that cannot be dropped do not fail the change', async () => {
  const { server, list, replace } = await setup();
  await replace((onReplaced) => {
    onReplaced(claim);
    server.faults.failNext({ match: { verb: 'patch', resource: 'secrets' }, answer: { status: 403 }, times: 10 });
    return Promise.resolve();
  });
  expect(list().toSorted()).toEqual(['after', 'before', 'foreign']);
});

it('a change whose values cannot be stored writes nothing', async () => {
  const { server, replace } = await setup();
  server.faults.failNext({ match: { resource: 'secrets' }, answer: { status: 403 }, times: 10 });
  await expect(replace(() => Promise.reject(new Error('it was written')))).rejects.toMatchObject({ status: 403 });
});
