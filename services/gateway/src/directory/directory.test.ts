import { annotations, labels, sandboxClaims, sandboxes } from '@sandlot/api-types';
import type { SandboxClaim } from '@sandlot/api-types';
import { startFakeApiServer } from '@sandlot/kube-testkit';
import { switchOffPacing } from '@sandlot/pacing';
import { silentLogger, systemClock } from '@sandlot/std';
import { FakeClock } from '@sandlot/std/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createInformers } from '../wiring/informers.ts';
import { Directory } from './directory.ts';
import type { LiveSnapshot } from './directory.ts';

const HERE = '192.0.2.1';
const buildClaim = (id: string, given: Partial<SandboxClaim['metadata']> = {}): SandboxClaim => ({
  metadata: { namespace: 'team-a', name: id, labels: { [labels.sandboxId]: id }, ...given },
  spec: { warmPoolRef: { name: 'pool' } },
});

/** A directory whose informers follow a fake API server. The clock of its waits stands still until a test advances it. */
async function startDirectory(namespaces?: readonly string[]) {
  const clock = new FakeClock();
  const server = await startFakeApiServer({ resources: [sandboxClaims, sandboxes] });
  const client = server.client({ user: 'gateway' });
  const informers = createInformers({ client, namespaces, clock: systemClock });
  const lookups: string[] = [];
  const options = { client, informers, namespaces, clock, log: silentLogger };
  const directory = new Directory({ ...options, onLookup: (result) => lookups.push(result) });
  const stopped = new AbortController();
  const running = [informers.claims.run(stopped.signal), informers.sandboxes.run(stopped.signal)];
  onTestFinished(async () => {
    stopped.abort();
    await Promise.all(running);
    await server.stop();
  });
  await Promise.all([informers.claims.waitUntilSynced(), informers.sandboxes.waitUntilSynced()]);
  const countRequests = (verb: string): number =>
    server.requests().filter((request) => request.verb === verb && request.user === 'gateway').length;
  const listsBefore = countRequests('list');
  return {
    clock,
    server,
    informers,
    directory,
    lookups,
    countRequests,
    countLists: () => countRequests('list') - listsBefore,
  };
}

const getKind = (live: LiveSnapshot): string =>
  typeof live === 'string' ? live : live.claim === undefined && live.sandbox === undefined ? 'missing' : 'found';

const countKinds = (all: readonly LiveSnapshot[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(all.map(getKind))].map((kind) => [kind, all.filter((one) => getKind(one) === kind).length]),
  );

describe('a namespace that the release does not serve', () => {
  it('has no sandboxes, and costs no request to the API server', async () => {
    const { directory, countRequests } = await startDirectory(['team-a', 'team-b']);
    const ask = (namespace: string) => directory.findLive({ by: 'name', namespace, name: 'box', uid: undefined }, HERE);
    expect([getKind(await ask('team-c')), countRequests('get')]).toEqual(['missing', 0]);
    expect([getKind(await ask('team-b')), countRequests('get')]).toEqual(['missing', 1]);
  });
});

describe('300 ids that a client makes up', () => {
  it('cost no request to the API server, and those beyond the share of their source are refused at once', async () => {
    const { clock, directory, countLists, countRequests } = await startDirectory();
    const asked = Array.from({ length: 300 }, (_, n) => directory.findLive({ by: 'id', id: `made-up-${n}` }, HERE));
    await clock.advance(1_000);
    expect(countKinds(await Promise.all(asked))).toEqual({ missing: 20, limited: 280 });
    expect([countLists(), countRequests('get')]).toEqual([0, 0]);
  });

  it('from as many sources leave the API server alone, too', async () => {
    const { clock, directory, countLists, countRequests } = await startDirectory();
    const asked = Array.from({ length: 2_000 }, (_, n) =>
      directory.findLive({ by: 'id', id: `made-up-${n}` }, `s${n}`),
    );
    await clock.advance(1_000);
    expect(countKinds(await Promise.all(asked))).toEqual({ missing: 1_000, unsure: 1_000 });
    expect([countLists(), countRequests('get')]).toEqual([0, 0]);
  });
});

describe('a sandbox id that the watch has not shown', () => {
  it('is found as soon as the watch shows it', async () => {
    const { directory, server, countLists } = await startDirectory();
    const asked = directory.findLive({ by: 'id', id: 'new' }, HERE);
    server.seed(sandboxClaims, buildClaim('new'));
    expect(await asked).toMatchObject({ claim: { metadata: { name: 'new' } } });
    expect(countLists()).toBe(0);
  });

  it('is waited for once: for five seconds others for the same id are answered at once', async () => {
    const { clock, directory, lookups } = await startDirectory();
    const query = { by: 'id', id: 'nothing' } as const;
    const first = directory.findLive(query, HERE);
    await clock.advance(1_000);
    await first;
    expect(getKind(await directory.findLive(query, HERE))).toBe('missing');
    await clock.advance(5_000);
    const last = directory.findLive(query, HERE);
    await clock.advance(1_000);
    expect([getKind(await last), lookups]).toEqual(['missing', ['missing', 'missing', 'missing']]);
  });

  it('is not waited for after the watch has shown its end', async () => {
    const { directory, server, informers } = await startDirectory();
    const gone = Promise.withResolvers<undefined>();
    informers.claims.onChange(({ next }) => {
      if (next === undefined) gone.resolve(undefined);
      else server.remove(sandboxClaims, { namespace: 'team-a', name: 'old' });
    });
    server.seed(sandboxClaims, buildClaim('old'));
    await gone.promise;
    expect(getKind(await directory.findLive({ by: 'id', id: 'old' }, HERE))).toBe('missing');
  });
});

describe('a sandbox that the watch has shown', () => {
  it('is asked for by name, once a second, when the caches would refuse its request', async () => {
    const { clock, directory, server, informers, countLists, countRequests } = await startDirectory();
    const shown = Promise.withResolvers<undefined>();
    informers.claims.onChange(() => shown.resolve(undefined));
    server.seed(sandboxClaims, buildClaim('paused', { annotations: { [annotations.autoResume]: 'false' } }));
    await shown.promise;
    const ask = () => directory.findLive({ by: 'id', id: 'paused' }, HERE);
    const answers = await Promise.all([ask(), ask()]);
    answers.push(await ask());
    expect([countKinds(answers), countRequests('get'), countLists()]).toEqual([{ found: 3 }, 1, 0]);
    await clock.advance(1_000);
    await ask();
    expect(countRequests('get')).toBe(2);
  });
});

describe('300 names that a client makes up', () => {
  const askFor = (directory: Directory, sourceOf: (n: number) => string) =>
    Promise.all(
      Array.from({ length: 300 }, (_, n) => {
        const query = { by: 'name', namespace: 'team-a', name: `made-up-${n}`, uid: undefined } as const;
        return directory.findLive(query, sourceOf(n));
      }),
    );

  it.each<[string, string, (n: number) => string, number]>([
    ['20 requests to the API server when they come from one source', '', () => HERE, 20],
    ['100 requests when they come from as many sources', '', (n) => `source-${n}`, 100],
    ['300 without pacing.gatewayLookups', 'gatewayLookups', () => HERE, 300],
  ])('cost %s', async (...[, off, sourceOf, wanted]) => {
    using _off = switchOffPacing(off);
    const { directory, countRequests, countLists } = await startDirectory();
    await askFor(directory, sourceOf);
    expect([countRequests('get'), countLists()]).toEqual([wanted, 0]);
  });

  it('leave the turns of other sources to them', async () => {
    const { directory } = await startDirectory();
    const made = await askFor(directory, () => HERE);
    expect(countKinds(made)).toEqual({ missing: 20, limited: 280 });
    const query = { by: 'name', namespace: 'team-a', name: 'mine', uid: undefined } as const;
    expect(getKind(await directory.findLive(query, '198.51.100.1'))).toBe('missing');
  });
});
