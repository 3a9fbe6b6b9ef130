import { buildMessages, buildReasons } from '@sandlot/api-types';
import {
  advanceState,
  describeBase,
  describeStep,
  isProblem,
  needsLogin,
  readStep,
  VariablesTooLong,
} from '@sandlot/template-build';
import type { BuildState, Instruction, Step, StepKey } from '@sandlot/template-build';
import type { BuildSandbox, Command, Exit } from '../sandbox/build-sandbox.ts';
import { PlaneError } from '../plane/plane.ts';
import type { BuiltImage } from '../plane/plane.ts';
import { BuildFailure } from './build-failure.ts';
import type { StepName } from './build-failure.ts';
import type { BuildRequest, BuildTools, Reached } from './build-run.ts';
import { formatCacheTag, formatStateLabels } from './cache.ts';
import { copyFiles } from './copy-files.ts';
import { beginCapture, collectChanges, pushChanges } from './layers.ts';
import { createUserScript, createWorkdirScript, provisionScript } from './step-script.ts';
import type { Script } from './step-script.ts';

export interface StepRunnerOptions extends BuildTools {
  readonly sandbox: BuildSandbox;
  readonly request: BuildRequest;
  /** Those of the base and of all steps. */
  readonly keys: readonly StepKey[];
  readonly signal: AbortSignal;
}

/** What the steps have reached, while the image of the last of them may still be on its way to the registry. */
interface Pending {
  readonly image: Promise<BuiltImage>;
  readonly state: BuildState;
}

interface Kept {
  readonly key: StepKey;
  readonly step: StepName;
  /** The line of the log. */
  readonly text: string;
  readonly mayChangeFiles: boolean;
}

/** What a hostile profile writes must not fill the memory. */
const MOST_LOGIN_LINES = 500;

/** Runs the base and the steps of one build in its sandbox, and keeps the image of each. */
export class StepRunner {
  readonly #o: StepRunnerOptions;
  #login: Readonly<Record<string, string>> | undefined;

  constructor(options: StepRunnerOptions) {
    this.#o = options;
  }

  /** Notes what the image has, before anything changes it. */
  async prepare(): Promise<void> {
    await beginCapture(this.#o);
  }

  /** Runs what comes after the key that was found; undefined: all, also the base. */
  async runAfter(found: number | undefined, begin: Reached): Promise<Reached> {
    let reached: Pending = { image: Promise.resolve(begin.image), state: begin.state };
    if (found === undefined) reached = await this.#runBase(reached);
    for (const [index, step] of this.#o.request.steps.entries()) {
      if (index >= (found ?? 0)) reached = await this.#runStep(step, index + 1, reached);
    }
    return { image: await reached.image, state: reached.state };
  }

  async #runBase({ image, state }: Pending): Promise<Pending> {
    const { log, keys, request } = this.#o;
    const text = describeBase(request.sourceTitle, keys[0] ?? '', false);
    await log.add('info', text, 'base');
    await this.#runScript(provisionScript(), { step: 'base', shell: '/bin/sh' });
    await this.#runScript(createUserScript({ name: state.user, canSudo: true }), { step: 'base' });
    return this.#keep({ image: await image, state }, { key: keys[0] ?? '', step: 'base', text, mayChangeFiles: true });
  }

  async #runStep(step: Step, position: number, { image, state }: Pending): Promise<Pending> {
    const { log, keys, request } = this.#o;
    const key = keys[position] ?? '';
    const name = String(position);
    const text = describeStep(step, { position, count: request.steps.length }, { key, isCached: false });
    await log.add('info', text, name);
    const instruction = readStep(step);
    if (isProblem(instruction)) throw new BuildFailure(buildReasons.stepFailed, instruction.problem, name);
    const [before] = await Promise.all([image, keepBefore(image, this.#carryOut(instruction, { state, step: name }))]);
    const login = needsLogin(instruction) ? await this.#readLogin() : {};
    const mayChangeFiles = instruction.kind !== 'env';
    return this.#keep(
      { image: before, state: advance(state, instruction, { login, step: name }) },
      { key, step: name, text, mayChangeFiles },
    );
  }

  async #carryOut(
    instruction: Instruction,
    at: { readonly state: BuildState; readonly step: StepName },
  ): Promise<void> {
    const { state, step } = at;
    switch (instruction.kind) {
      case 'run':
        return this.#runCommand(instruction.command, { ...state, user: instruction.user ?? state.user }, step);
      case 'copy':
        return copyFiles(this.#o, instruction, at);
      case 'env':
        return;
      case 'workdir': {
        const path = advanceState(state, instruction, {}).workdir ?? '/';
        return this.#runScript(createWorkdirScript(path, state.user), { step, fails: 'failed to create workdir' });
      }
      case 'user':
        return this.#runScript(createUserScript(instruction), { step, fails: 'failed to create user' });
    }
  }

  async #runCommand(command: string, { user, workdir, env }: BuildState, step: StepName): Promise<void> {
    const shell = { program: '/bin/bash', args: ['-l', '-c', command], user, workdir, env };
    const { isSuccess, status } = await this.#run(shell, step);
    if (isSuccess) return;
    throw new BuildFailure(buildReasons.stepFailed, `failed to run command '${command}': ${status}`, step);
  }

  async #runScript(
    { text, args }: Script,
    { step, fails, shell = '/bin/bash' }: { readonly step: StepName; readonly fails?: string; readonly shell?: string },
  ): Promise<void> {
    let last = '';
    const command = { program: shell, args: ['-c', text, 'sandlot', ...args], user: 'root', workdir: '/' };
    const { isSuccess, status } = await this.#run(command, step, (line) => (last = line));
    if (isSuccess) return;
    const detail = last === '' ? status : last;
    throw new BuildFailure(buildReasons.stepFailed, fails === undefined ? detail : `${fails}: ${detail}`, step);
  }

  #run(command: Command, step: StepName, onLine?: (line: string) => void): Promise<Exit> {
    const { sandbox, log, signal } = this.#o;
    const write = (line: string, stream: 'stdout' | 'stderr'): void => {
      onLine?.(line);
      log.addOutput(stream === 'stdout' ? 'info' : 'warn', `[${formatPlace(step)}] [${stream}]: ${line}`, step);
    };
    return sandbox.run({ ...command, onLine: write }, signal);
  }

  /** The environment of a login shell of root, which `ENV` may refer to. */
  async #readLogin(): Promise<Readonly<Record<string, string>>> {
    if (this.#login !== undefined) return this.#login;
    const lines: string[] = [];
    const onLine = (line: string): void => {
      if (lines.length < MOST_LOGIN_LINES) lines.push(line);
    };
    const command = { program: '/bin/bash', args: ['-l', '-c', 'env'], user: 'root', workdir: '/' };
    await this.#o.sandbox.run({ ...command, onLine }, this.#o.signal);
    const pairs = lines.flatMap((line) => {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value ?? ''] as const];
    });
    return (this.#login = Object.fromEntries(pairs));
  }

  /** Collects what has changed. Its way to the registry takes place beside the next step, which may not collect before it is over. */
  async #keep({ image, state }: Reached, kept: Kept): Promise<Pending> {
    const hasChanged = kept.mayChangeFiles && (await collectChanges(this.#o));
    const pushed = this.#push({ image, state }, { ...kept, hasChanged });
    // Its failure ends the build where the image is awaited; until then it must not count as unhandled.
    pushed.catch(() => undefined);
    return { image: pushed, state };
  }

  /** Makes what was collected a layer, and the image with it the cached one of the key. */
  async #push(
    { image, state }: Reached,
    { key, step, text, hasChanged }: Kept & { readonly hasChanged: boolean },
  ): Promise<BuiltImage> {
    const { plane, request, signal } = this.#o;
    try {
      const layer = hasChanged ? await pushChanges(this.#o) : undefined;
      const base = { image: image.image, trusted: true };
      const place = { repository: request.cacheRepository, tag: formatCacheTag(key) };
      return await plane.assemble({ base, ...place, layer, labels: formatStateLabels(state), step: text }, signal);
    } catch (error) {
      if (!(error instanceof PlaneError) || error.isPassing) throw error;
      throw new BuildFailure(buildReasons.registryFailed, buildMessages.pushFailed(error.message), step);
    }
  }
}

/** A step that fails ends the sandbox, and with it what is on its way from there: the image of the step before arrives first. */
async function keepBefore(image: Promise<BuiltImage>, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    await image.catch(() => undefined);
    throw error;
  }
}

function advance(
  state: BuildState,
  instruction: Instruction,
  { login, step }: { readonly login: Readonly<Record<string, string>>; readonly step: StepName },
): BuildState {
  try {
    return advanceState(state, instruction, login);
  } catch (error) {
    if (!(error instanceof VariablesTooLong)) throw error;
    throw new BuildFailure(buildReasons.stepFailed, error.message, step);
  }
}

function formatPlace(step: StepName): string {
  return step === 'base' || step === 'finalize' ? step : `builder ${step}`;
}
