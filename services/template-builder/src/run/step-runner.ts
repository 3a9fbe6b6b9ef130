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
import { BuildFailure } from './build-failure.ts';
import type { StepName } from './build-failure.ts';
import type { BuildRequest, BuildTools, Reached } from './build-run.ts';
import { formatCacheTag, formatStateLabels } from './cache.ts';
import { copyFiles } from './copy-files.ts';
import { captureLayer, beginCapture } from './layers.ts';
import { createUserScript, createWorkdirScript, provisionScript } from './step-script.ts';
import type { Script } from './step-script.ts';

export interface StepRunnerOptions extends BuildTools {
  readonly sandbox: BuildSandbox;
  readonly request: BuildRequest;
  /** Those of the base and of all steps. */
  readonly keys: readonly StepKey[];
  readonly signal: AbortSignal;
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
    let reached = found === undefined ? await this.#runBase(begin) : begin;
    for (const [index, step] of this.#o.request.steps.entries()) {
      if (index >= (found ?? 0)) reached = await this.#runStep(step, index + 1, reached);
    }
    return reached;
  }

  async #runBase({ image, state }: Reached): Promise<Reached> {
    const { log, keys, request } = this.#o;
    const text = describeBase(request.sourceTitle, keys[0] ?? '', false);
    await log.add('info', text, 'base');
    await this.#runScript(provisionScript(), { step: 'base', shell: '/bin/sh' });
    await this.#runScript(createUserScript({ name: state.user, canSudo: true }), { step: 'base' });
    return this.#keep({ image, state }, { key: keys[0] ?? '', step: 'base', text, mayChangeFiles: true });
  }

  async #runStep(step: Step, position: number, { image, state }: Reached): Promise<Reached> {
    const { log, keys, request } = this.#o;
    const key = keys[position] ?? '';
    const name = String(position);
    const text = describeStep(step, { position, count: request.steps.length }, { key, isCached: false });
    await log.add('info', text, name);
    const instruction = readStep(step);
    if (isProblem(instruction)) throw new BuildFailure(buildReasons.stepFailed, instruction.problem, name);
    await this.#carryOut(instruction, { state, step: name });
    const login = needsLogin(instruction) ? await this.#readLogin() : {};
    const mayChangeFiles = instruction.kind !== 'env';
    return this.#keep(
      { image, state: advance(state, instruction, { login, step: name }) },
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

  /** Makes what has changed a layer, and the image with it the cached one of the key. */
  async #keep({ image, state }: Reached, { key, step, text, mayChangeFiles }: Kept): Promise<Reached> {
    const { plane, request, signal } = this.#o;
    try {
      const layer = mayChangeFiles ? await captureLayer(this.#o) : undefined;
      const kept = await plane.assemble(
        {
          base: { image: image.image, trusted: true },
          repository: request.cacheRepository,
          tag: formatCacheTag(key),
          layer,
          labels: formatStateLabels(state),
          step: text,
        },
        signal,
      );
      return { image: kept, state };
    } catch (error) {
      if (!(error instanceof PlaneError) || error.isPassing) throw error;
      throw new BuildFailure(buildReasons.registryFailed, buildMessages.pushFailed(error.message), step);
    }
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
