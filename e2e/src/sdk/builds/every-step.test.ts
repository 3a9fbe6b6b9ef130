import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Template } from 'e2b';
import type { Sandbox } from 'e2b';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fillContext } from '../../support/builds/context.ts';
import { buildEveryStep, CONTENTS_OF_EVERY_STEP, FILES_OF_EVERY_STEP } from '../../support/builds/every-step.ts';
import { listCached, listSteps, listUploads, Templates } from '../../support/builds/templates.ts';
import type { Built } from '../../support/builds/templates.ts';

const stack = new AsyncDisposableStack();
let templates: Templates;
let folder: string;
let name: string;
let first: Built;
let sandbox: Sandbox;
beforeAll(async () => {
  templates = stack.use(await Templates.begin('steps'));
  folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'sandlot-context-'))).path;
  await fillContext(folder);
  name = templates.name('all');
  first = await templates.build(buildEveryStep(folder), name);
  sandbox = await templates.open(name);
});
afterAll(() => stack.disposeAsync());

const sh = async (command: string, user = 'root'): Promise<string> =>
  (await sandbox.commands.run(command, { user })).stdout;

async function countSteps(): Promise<number> {
  const json = JSON.parse(await Template.toJSON(buildEveryStep(folder), false)) as { readonly steps: unknown[] };
  return json.steps.length;
}

describe('a template of every call that makes a step', () => {
  it('runs each step, and uploads what the cluster does not have', async () => {
    expect(listCached(first)).toEqual(Array.from({ length: await countSteps() }, () => false));
    expect(listUploads(first)).toContain('link');
    expect(first.log.at(-1)).toBe('Build finished');
  });

  it('has the owners, the rights and the links that the calls ask for', async () => {
    const wanted = FILES_OF_EVERY_STEP.trim();
    const paths = [...wanted.matchAll(/ ('[^']*')(?: -> |$)/gm)].map(([, path = '']) => path);
    expect((await sh(`stat -c '%A %U:%G %N' ${paths.join(' ')}`)).trim()).toBe(wanted);
    expect(await sh('ls /srv/conf')).toBe('a.conf\n');
  });

  it.each(Object.entries(CONTENTS_OF_EVERY_STEP))('has in %s what the step wrote', async (path, content) => {
    expect(await sandbox.files.read(path, { user: 'root' })).toBe(content);
  });

  it('has what was cloned and installed', async () => {
    expect(await sh('git -C /home/user/clone branch --show-current', 'user')).toBe('side\n');
    expect(await sh('python3 -c "import sandlot_hello; print(sandlot_hello.GREETING)"')).toBe('from a wheel\n');
  });

  it('makes sandboxes with the user and the directory of the last steps, and without the variables of the build', async () => {
    const { stdout } = await sandbox.commands.run('id -un; pwd; echo "[$FIRST]"; sudo -n true 2>&1 | wc -l');
    expect(stdout).toBe('ana\n/work/inner\n[]\n1\n');
    expect(await sandbox.files.read('/work/inner/where')).toBe('/work/inner\n');
    expect(await sh('sudo -n id -un', 'user')).toBe('root\n');
  });

  it('comes from the cache when it is built again, without an upload', async () => {
    const again = await templates.build(buildEveryStep(folder), name);
    expect(listCached(again)).toEqual(listSteps(first).map(() => true));
    expect(listUploads(again)).toEqual([]);
    expect(again.info.templateId).toBe(first.info.templateId);
    expect(again.info.buildId).not.toBe(first.info.buildId);
  });

  it('exists for its team, and for no other one', async () => {
    expect(await Template.exists(name, templates.access)).toBe(true);
    expect(await Template.exists(`${name}-no`, templates.access)).toBe(false);
  });
});

describe('the cache', () => {
  const build = (middle: (template: ReturnType<typeof begin>) => ReturnType<typeof begin>) =>
    middle(begin()).copy('words.txt', '/tmp/words.txt', { forceUpload: true });
  const begin = () => Template({ fileContextPath: folder }).fromBaseImage().runCmd(`echo ${process.pid} > /tmp/one`);
  const plain = () => build((template) => template);

  it('is not used for a forced upload and what follows, nor after skipCache, nor by a build that skips it', async () => {
    const forced = templates.name('forced');
    expect(listCached(await templates.build(plain(), forced))).toEqual([false, false]);
    const again = await templates.build(plain(), forced);
    expect([listCached(again), listUploads(again)]).toEqual([[true, false], ['words.txt']]);
    const after = await templates.build(
      build((template) => template.skipCache().runCmd('true')),
      forced,
    );
    expect(listCached(after)).toEqual([true, false, false]);
    expect(listCached(await templates.build(plain(), forced, { skipCache: true }))).toEqual([false, false]);
  });

  it('has what steps put into /tmp, when a build goes on behind them', async () => {
    const kept = templates.name('kept');
    await templates.build(begin(), kept);
    const next = await templates.build(begin().runCmd('cp /tmp/one /tmp/two'), kept);
    expect(listCached(next)).toEqual([true, false]);
    const made = await templates.open(kept);
    expect((await made.commands.run('cat /tmp/one /tmp/two; stat -c %a /tmp')).stdout).toBe(
      `${process.pid}\n${process.pid}\n1777\n`,
    );
  });
});
