import { AuthenticationError, InvalidArgumentError, Sandbox, SandboxNotFoundError, Template } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/team.ts';
import { readAccess, LIFETIME_MS, openSandbox } from '../support/sdk/client.ts';
import type { Access } from '../support/sdk/client.ts';

const RUN = `run-${process.pid}`;
/** A lifetime that a cold start does not use up. */
const SHORT_MS = 10_000;

let options: Access;
beforeAll(async () => {
  options = await readAccess();
});

const states = async (sandboxId: string): Promise<string> => (await Sandbox.getInfo(sandboxId, options)).state;

/** The client marks it as deprecated; older programs use it. */
interface OlderInfo {
  getFullInfo(sandboxId: string, options: Access): Promise<object>;
}

describe('Sandbox.create', () => {
  it('returns a sandbox that runs commands at once, with its variables, metadata and lifetime', async () => {
    const metadata = { run: RUN, 'a key/with=signs&': 'and a välue % of + them' };
    await using sandbox = await openSandbox({ metadata, envs: { GREETING: 'hello there' }, timeoutMs: 120_000 });
    const { stdout } = await sandbox.commands.run('echo "$GREETING"');
    expect(stdout).toBe('hello there\n');
    const info = await sandbox.getInfo();
    const older: OlderInfo = Sandbox;
    expect(await older.getFullInfo(sandbox.sandboxId, options)).toEqual(info);
    expect(info).toMatchObject({
      sandboxId: sandbox.sandboxId,
      templateId: 'base',
      metadata,
      state: 'running',
      memoryMB: 512,
      lifecycle: { onTimeout: 'kill', autoResume: false },
    });
    expect(info.endAt.getTime() - info.startedAt.getTime()).toBeGreaterThan(100_000);
    expect(info.endAt.getTime() - info.startedAt.getTime()).toBeLessThan(140_000);
  });

  it('uses the template `base` by default', async () => {
    const sandbox = await Sandbox.create({ ...options, timeoutMs: LIFETIME_MS });
    try {
      expect((await sandbox.getInfo()).templateId).toBe('base');
    } finally {
      await sandbox.kill();
    }
  });

  it.each([
    ['an unknown template', { template: 'nonesuch' }, "404: template 'nonesuch' not found"],
    ['a lifetime above the limit of the key', { timeoutMs: 100 * 86_400_000 }, /^400: /],
  ])('refuses %s', async (_, more, message) => {
    await expect(Sandbox.create({ ...options, ...more })).rejects.toThrow(message);
  });

  it('refuses an unknown key', async () => {
    await expect(Sandbox.create('base', { ...options, apiKey: `e2b_${'0'.repeat(40)}` })).rejects.toThrow(
      AuthenticationError,
    );
  });
});

describe('a running sandbox', () => {
  let sandbox: Sandbox & AsyncDisposable;
  beforeAll(async () => {
    sandbox = await openSandbox({ metadata: { run: RUN, which: 'shared' } });
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it('can be connected to by its id, with its files', async () => {
    await sandbox.files.write('note.txt', 'from the first');
    const other = await Sandbox.connect(sandbox.sandboxId, options);
    expect(await other.files.read('note.txt')).toBe('from the first');
  });

  it('is extended by setTimeout, and not shortened by connect', async () => {
    await sandbox.setTimeout(3_600_000);
    const extended = (await sandbox.getInfo()).endAt.getTime();
    expect(extended).toBeGreaterThan(Date.now() + 3_500_000);
    await Sandbox.connect(sandbox.sandboxId, { ...options, timeoutMs: 10_000 });
    expect((await sandbox.getInfo()).endAt.getTime()).toBe(extended);
    await Sandbox.setTimeout(sandbox.sandboxId, LIFETIME_MS, options);
    expect((await sandbox.getInfo()).endAt.getTime()).toBeLessThan(extended);
  });

  it('reports that it runs, and metrics within its limits', async () => {
    expect(await sandbox.isRunning()).toBe(true);
    const [sample] = await sandbox.getMetrics();
    expect(sample).toMatchObject({ memTotal: 512 * 1024 * 1024 });
    expect(sample?.memUsed).toBeGreaterThan(0);
    expect(sample?.memUsed).toBeLessThan(512 * 1024 * 1024);
    // No client has a method for the metrics of several.
    const path = `${options.apiUrl}/sandboxes/metrics?sandbox_ids=${sandbox.sandboxId},nonesuch`;
    const several = await fetch(path, { headers: { 'X-API-KEY': options.apiKey } });
    const { memTotal } = sample ?? {};
    expect(await several.json()).toMatchObject({ sandboxes: { [sandbox.sandboxId]: { memTotal } } });
  });

  it('tells its programs that they run in it, by variables that clients may override and by files', async () => {
    const show = 'echo "$E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID"';
    const named = `true ${sandbox.sandboxId} base\n`;
    expect((await sandbox.commands.run(show)).stdout).toBe(named);
    const own = { E2B_SANDBOX: 'mine', E2B_TEMPLATE_ID: '' };
    expect((await sandbox.commands.run(show, { envs: own })).stdout).toBe(`mine ${sandbox.sandboxId} \n`);
    const files = ['', '_ID'].map((end) => `/run/e2b/.E2B_SANDBOX${end}`).join(' ');
    expect((await sandbox.commands.run(`cat ${files} /run/e2b/.E2B_TEMPLATE_ID`)).stdout).toBe(
      `true${sandbox.sandboxId}base`,
    );
  });

  it('can be killed once; then it is neither found, running nor listed', async () => {
    const gone = await openSandbox({ metadata: { run: RUN, which: 'gone' } });
    expect(await Sandbox.kill(gone.sandboxId, options)).toBe(true);
    expect(await gone.kill()).toBe(false);
    expect(await gone.isRunning()).toBe(false);
    await expect(gone.getInfo()).rejects.toThrow(SandboxNotFoundError);
    await expect(Sandbox.connect(gone.sandboxId, options)).rejects.toThrow(SandboxNotFoundError);
    await expect(gone.setTimeout(60_000)).rejects.toThrow(SandboxNotFoundError);
    const listed = await Sandbox.list({ ...options, query: { metadata: { run: RUN, which: 'gone' } } }).nextItems();
    expect(listed).toEqual([]);
  });

  it('ends by itself at its timeout', async () => {
    const { sandboxId } = await openSandbox({ timeoutMs: SHORT_MS });
    await eventually('the sandbox is gone', async () =>
      Sandbox.getInfo(sandboxId, options).then(
        () => undefined,
        (error: unknown) => (error instanceof SandboxNotFoundError ? true : undefined),
      ),
    );
  });
});

/** The ids in the order of lists: by start, then by creation. */
async function byStart(sandboxes: readonly Sandbox[]): Promise<readonly string[]> {
  const infos = await Promise.all(sandboxes.map((sandbox) => sandbox.getInfo()));
  // Starts have whole seconds; a stable sort keeps the given order within a second.
  const sorted = infos.toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime());
  return sorted.map(({ sandboxId }) => sandboxId);
}

interface OlderTemplates {
  aliasExists(name: string, options: Access): Promise<boolean>;
}

it('Template.exists tells which templates a tenant may use', async () => {
  expect(await Template.exists('base', options)).toBe(true);
  expect(await Template.exists('nonesuch', options)).toBe(false);
  // The name by which older programs know it.
  const older: OlderTemplates = Template;
  const found = ['base', 'nonesuch'].map((name) => older.aliasExists(name, options));
  expect(await Promise.all(found)).toEqual([true, false]);
});

it('names beside an open network are refused, not ignored', async () => {
  await using sandbox = await openSandbox();
  await expect(sandbox.updateNetwork({ allowOut: ['example.com'] })).rejects.toThrow(
    /^400: .*allowOut: names need network\.denyOut/,
  );
});

describe('Sandbox.list', () => {
  it('returns pages in order, filtered by metadata, state, template and start', async () => {
    const metadata = { run: RUN, list: 'a b%c=d&e+f' };
    await using first = await openSandbox({ metadata });
    await using second = await openSandbox({ metadata });
    await using third = await openSandbox({ metadata: { ...metadata, third: 'yes' } });
    await third.pause();
    const inOrder = await byStart([first, second, third]);
    const pages = Sandbox.list({ ...options, limit: 2, order: 'asc', query: { metadata } });
    const found: string[][] = [];
    while (pages.hasNext) found.push((await pages.nextItems()).map(({ sandboxId }) => sandboxId));
    expect(found).toEqual([inOrder.slice(0, 2), inOrder.slice(2)]);
    const idsBy = async (query: object): Promise<string[]> => {
      const listed = await Sandbox.list({ ...options, query: { metadata, ...query } }).nextItems();
      return listed.map(({ sandboxId }) => sandboxId);
    };
    expect(await idsBy({})).toEqual(inOrder.toReversed());
    expect(await idsBy({ state: ['paused'] })).toEqual([third.sandboxId]);
    expect(await idsBy({ state: ['running'] })).toEqual(inOrder.filter((id) => id !== third.sandboxId).toReversed());
    expect(await idsBy({ metadata: { ...metadata, third: 'yes' } })).toEqual([third.sandboxId]);
    expect(await idsBy({ metadata: { ...metadata, third: 'no' } })).toEqual([]);
    expect(await idsBy({ template: 'base' })).toHaveLength(3);
    expect(await idsBy({ template: 'code-interpreter-v1' })).toEqual([]);
    expect(await idsBy({ startedAfter: new Date(Date.now() + 60_000) })).toEqual([]);
  });
});

describe('a paused sandbox', () => {
  it('keeps its id, variables, processes and lifecycle, and resumes on connect', async () => {
    await using sandbox = await openSandbox({ envs: { KEPT: 'yes' }, metadata: { run: RUN, which: 'paused' } });
    const sleeper = await sandbox.commands.run('sleep 1000', { background: true });
    await sleeper.disconnect();
    expect(await sandbox.pause()).toBe(true);
    // The older name of the method, which older agents use.
    const older: { betaPause(): Promise<boolean> } = sandbox;
    expect(await older.betaPause()).toBe(false);
    expect(await states(sandbox.sandboxId)).toBe('paused');
    expect(await sandbox.isRunning()).toBe(false);
    await expect(sandbox.setTimeout(60_000)).rejects.toThrow(SandboxNotFoundError);
    expect(await states(sandbox.sandboxId)).toBe('paused');
    const resumed = await Sandbox.connect(sandbox.sandboxId, options);
    expect(resumed.sandboxId).toBe(sandbox.sandboxId);
    expect(await resumed.isRunning()).toBe(true);
    expect((await resumed.commands.run('echo "$KEPT"')).stdout).toBe('yes\n');
    expect((await sandbox.commands.run('echo "$KEPT"')).stdout).toBe('yes\n');
    expect((await resumed.commands.list()).map(({ pid }) => pid)).toContain(sleeper.pid);
    expect((await resumed.getInfo()).metadata).toEqual({ run: RUN, which: 'paused' });
  });

  it('boots anew with its files and without its memory, if the pause or the connect wants that', async () => {
    await using sandbox = await openSandbox({ envs: { KEPT: 'yes' } });
    const boot = async (): Promise<number> => {
      const sleeper = await sandbox.commands.run('sleep 1000', { background: true });
      await sleeper.disconnect();
      return sleeper.pid;
    };
    const running = async (): Promise<number[]> => (await sandbox.commands.list()).map(({ pid }) => pid);
    const first = await boot();
    await sandbox.files.write('/home/user/kept', 'before the pause');
    expect(await sandbox.pause({ keepMemory: false })).toBe(true);
    await sandbox.connect();
    expect(await running()).not.toContain(first);
    expect(await sandbox.files.read('/home/user/kept')).toBe('before the pause');
    const second = await boot();
    await sandbox.files.write('/home/user/kept', 'before the reboot');
    expect(await sandbox.pause()).toBe(true);
    await sandbox.connect({ onResume: 'reboot' });
    expect(await running()).not.toContain(second);
    expect(await sandbox.files.read('/home/user/kept')).toBe('before the reboot');
    expect((await sandbox.commands.run('echo "$KEPT"')).stdout).toBe('yes\n');
  });

  it('can be killed like a running one', async () => {
    const sandbox = await openSandbox();
    await sandbox.pause();
    expect(await sandbox.kill()).toBe(true);
    await expect(sandbox.getInfo()).rejects.toThrow(SandboxNotFoundError);
  });

  it('is paused at its timeout with onTimeout pause, and resumes on connect', async () => {
    await using sandbox = await openSandbox({ timeoutMs: SHORT_MS, lifecycle: { onTimeout: 'pause' } });
    await eventually('the sandbox is paused', async () =>
      (await states(sandbox.sandboxId)) === 'paused' ? true : undefined,
    );
    await expect(sandbox.commands.run('true')).rejects.toThrow();
    expect(await states(sandbox.sandboxId)).toBe('paused');
    await sandbox.connect({ timeoutMs: LIFETIME_MS });
    expect((await sandbox.commands.run('echo awake')).stdout).toBe('awake\n');
    expect((await sandbox.getInfo()).lifecycle).toEqual({ onTimeout: 'pause', autoResume: false });
  });

  it('wakes for a request with autoResume, and then lives at least five minutes', async () => {
    const lifecycle = { onTimeout: 'pause', autoResume: true } as const;
    await using sandbox = await openSandbox({ timeoutMs: SHORT_MS, lifecycle });
    await eventually('the sandbox is paused', async () =>
      (await states(sandbox.sandboxId)) === 'paused' ? true : undefined,
    );
    expect(await sandbox.isRunning()).toBe(false);
    expect((await sandbox.commands.run('echo awake')).stdout).toBe('awake\n');
    const { state, endAt } = await sandbox.getInfo();
    expect(state).toBe('running');
    expect(endAt.getTime()).toBeGreaterThan(Date.now() + 250_000);
  });
});

it('the client throws its own kind of error for an invalid argument', async () => {
  await using sandbox = await openSandbox();
  await expect(sandbox.commands.run('true', { cwd: '/nonesuch' })).rejects.toThrow(InvalidArgumentError);
});
