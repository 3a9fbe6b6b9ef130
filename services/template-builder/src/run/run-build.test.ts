import { describe, expect, it } from 'vitest';
import { request, run, Stage } from '../../test/stage.ts';
import { PlaneError } from '../plane/plane.ts';
import { runBuild } from './run-build.ts';

const SIGNAL = new AbortController().signal;
const HASH = 'a'.repeat(64);
const build = (stage: Stage, ...given: Parameters<typeof request>) => runBuild(stage.tools, request(...given), SIGNAL);

describe('a build', () => {
  it('runs the base and each step in one sandbox, and keeps the image of each', async () => {
    const stage = new Stage();
    const { image, cachedSteps } = await build(stage, [run('make'), run('make install')]);
    expect(stage.ran).toEqual(['make', 'make install']);
    expect(stage.sandboxes).toEqual(['registry/team/build-cache@sha256:i-13']);
    const kept = stage.assembled.filter(({ tag }) => tag.startsWith('c-'));
    expect(kept.map(({ base, layer }) => [base.image.replace(/@.*/, ''), layer === undefined ? 0 : 1])).toEqual(
      Array.from({ length: 3 }, () => ['registry/team/build-cache', 1]),
    );
    expect([image.image.startsWith('registry/team/build.images@'), cachedSteps, stage.closed]).toEqual([true, 0, 1]);
  });

  it('starts no sandbox when every step is cached', async () => {
    const stage = new Stage();
    await build(stage, [run('make')]);
    const again = await build(stage, [run('make')]);
    expect([stage.sandboxes.length, stage.ran.length, again.cachedSteps]).toEqual([1, 1, 1]);
    const cached = stage.lines.filter((line) => line.startsWith('CACHED'));
    expect(cached.map((line) => line.replace(/ \[\w+\]$/, ''))).toEqual([
      'CACHED [base] FROM debian:13',
      'CACHED [builder 1/1] RUN make',
    ]);
  });

  it('begins behind the last step that is cached, from its image', async () => {
    const stage = new Stage();
    await build(stage, [run('a'), run('b')]);
    const last = stage.assembled.at(-2)?.tag ?? '';
    const { cachedSteps } = await build(stage, [run('a'), run('b'), run('c')]);
    expect([stage.ran, cachedSteps]).toEqual([['a', 'b', 'c'], 2]);
    expect(stage.sandboxes[1]).toBe(`registry/team/build-cache@sha256:${last}`);
  });

  it.each([
    ['a step with force', [run('a'), run('b', { force: true }), run('c')], {}, ['b', 'c']],
    ['a build with force', [run('a'), run('b'), run('c')], { force: true }, ['a', 'b', 'c']],
    ['another image', [run('a'), run('b'), run('c')], { source: { image: 'alpine:3' } }, ['a', 'b', 'c']],
  ])('%s runs again what comes from there on', async (...[, steps, more, ran]) => {
    const stage = new Stage();
    await build(stage, [run('a'), run('b'), run('c')]);
    stage.commands.length = 0;
    await build(stage, steps, more);
    expect(stage.ran).toEqual(ran);
  });

  it('hands user, workdir and environment on to later steps, also from the cache', async () => {
    const stage = new Stage();
    const before = [
      { type: 'USER', args: ['dev'] },
      { type: 'WORKDIR', args: ['/srv'] },
      { type: 'ENV', args: ['A', '1', 'B', '$HOME'] },
    ];
    stage.reactions = { env: { lines: ['HOME=/root', 'not a variable'] } };
    await build(stage, before);
    await build(stage, [...before, run('make'), { type: 'RUN', args: ['id', 'root'] }]);
    const shells = stage.commands.filter(({ args }) => args[0] === '-l' && args[2] !== 'env');
    expect(shells.map(({ user, workdir, env }) => [user, workdir, env])).toEqual([
      ['dev', '/srv', { A: '1', B: '/root' }],
      ['root', '/srv', { A: '1', B: '/root' }],
    ]);
  });

  it('reads no more than the first 500 lines of a login shell, which a hostile profile may print without end', async () => {
    const stage = new Stage();
    stage.reactions = { env: { lines: Array.from({ length: 600 }, (_, index) => `V${index}=${index}`) } };
    await build(stage, [{ type: 'ENV', args: ['FIRST', '$V499', 'LATER', '$V500'] }, run('make')]);
    const made = stage.commands.find(({ args }) => args[2] === 'make');
    expect(made?.env).toEqual({ FIRST: '499', LATER: '' });
  });

  it('adds no layer for a step that changes no file', async () => {
    const stage = new Stage();
    stage.changesNothing = ({ args }) => args[2] === 'true';
    await build(stage, [run('true')]);
    expect(stage.assembled.filter(({ tag }) => tag.startsWith('c-')).map(({ layer }) => layer !== undefined)).toEqual([
      true,
      false,
    ]);
  });

  it('unpacks the files of a COPY in the sandbox', async () => {
    const stage = new Stage();
    stage.files.set(HASH, 'archive');
    await build(stage, [{ type: 'COPY', args: ['src', 'app/', '', '0755'], filesHash: HASH }]);
    expect(stage.uploaded).toEqual(['archive']);
    expect(
      stage.commands
        .find(({ args }) => args[0] === 'unpack')
        ?.args.slice(3)
        .join(' '),
    ).toBe('--source src --destination app/ --home-of user --owner user:user --mode 0755');
  });

  it('runs the start command until the ready command agrees', async () => {
    const stage = new Stage();
    await build(stage, [], { startCommand: 'serve', readyCommand: 'curl localhost' });
    expect(stage.ran).toEqual(['serve', 'curl localhost']);
    expect(stage.lines).toContain('Template is ready');
  });
});

describe('the image of a step', () => {
  const NEVER = new Promise<never>(() => undefined);

  /** A stage whose second layer, that of the step `a`, arrives as this says. */
  function holdSecondLayer(arrive: () => Promise<unknown>): Stage {
    const stage = new Stage();
    let pushes = 0;
    stage.onPush = async () => {
      pushes += 1;
      if (pushes === 2) await arrive();
    };
    return stage;
  }
  const countCollected = (stage: Stage): number => stage.commands.filter(({ args }) => args[1] === 'diff').length;

  it('goes to the registry while the next step runs, which is collected after it', async () => {
    const arrived = Promise.withResolvers<undefined>();
    const stage = holdSecondLayer(() => arrived.promise);
    const building = build(stage, [run('a'), run('b')]);
    await expect.poll(() => stage.ran).toEqual(['a', 'b']);
    expect([stage.layers, countCollected(stage)]).toEqual([1, 2]);
    arrived.resolve(undefined);
    await building;
    expect([stage.layers, countCollected(stage)]).toEqual([3, 3]);
  });

  it('ends the build when the registry refuses it, though the next step never ends', async () => {
    const stage = holdSecondLayer(async () => {
      await expect.poll(() => stage.ran).toContain('b');
      throw new PlaneError('denied', 'this repository is read-only');
    });
    stage.reactions = { b: { after: NEVER } };
    await expect(build(stage, [run('a'), run('b')])).rejects.toMatchObject({ reason: 'RegistryFailed', step: '1' });
    expect(stage.closed).toBe(1);
  });

  it('arrives before a step that fails ends the sandbox', async () => {
    const arrived = Promise.withResolvers<undefined>();
    const stage = holdSecondLayer(() => arrived.promise);
    stage.reactions = { b: { status: 'exit status 1' } };
    const building = build(stage, [run('a'), run('b')]).catch((error: unknown) => error);
    await expect.poll(() => stage.ran).toEqual(['a', 'b']);
    expect(stage.closed).toBe(0);
    arrived.resolve(undefined);
    expect(await building).toMatchObject({ step: '2' });
    expect([stage.layers, stage.closed]).toEqual([2, 1]);
  });
});

describe('a build that fails', () => {
  it.each([
    [
      'a command',
      [run('true'), run('make')],
      { make: { status: 'exit status 2' } },
      '2',
      "failed to run command 'make': exit status 2",
    ],
    [
      'a step that does not exist',
      [{ type: 'EXPOSE', args: ['80'] }],
      {},
      '1',
      'command type EXPOSE is not implemented',
    ],
    [
      'files that are missing',
      [{ type: 'COPY', args: ['a', '/b'], filesHash: HASH }],
      {},
      '1',
      'the files of this COPY were not uploaded, or are gone: there are no such files',
    ],
  ])('says where: %s', async (...[, steps, reactions, step, message]) => {
    const stage = new Stage();
    stage.reactions = reactions;
    await expect(build(stage, steps)).rejects.toMatchObject({ reason: 'StepFailed', step, message });
    expect(stage.closed).toBe(1);
  });

  it('keeps what came before', async () => {
    const stage = new Stage();
    stage.reactions = { b: { status: 'signal: killed' } };
    await expect(build(stage, [run('a'), run('b')])).rejects.toThrow("failed to run command 'b': signal: killed");
    stage.reactions = {};
    stage.commands.length = 0;
    await build(stage, [run('a'), run('b')]);
    expect(stage.ran).toEqual(['b']);
  });

  it('names the base for an image that cannot be had', async () => {
    const stage = new Stage();
    stage.refusal = new PlaneError('denied', "access denied to 'x'");
    await expect(build(stage, [])).rejects.toMatchObject({
      reason: 'ImageRefused',
      step: 'base',
      message: "access denied to 'x'",
    });
    expect(stage.sandboxes).toEqual([]);
  });

  it('says that the template did not become ready', async () => {
    const stage = new Stage();
    stage.reactions = { never: { status: 'exit status 1' } };
    let now = 0;
    const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) };
    const failing = runBuild({ ...stage.tools, clock }, request([], { readyCommand: 'never' }), SIGNAL);
    await expect(failing).rejects.toMatchObject({ step: 'finalize', message: 'ready command timed out after 10m0s' });
    expect(now).toBeGreaterThan(590_000);
  });
});
