import { z } from 'zod';
import { startPython } from '../sdk/python-program.ts';
import type { PythonProgram } from '../sdk/python-program.ts';

const line = z.object({ message: z.string().optional(), end: z.string().optional() });

/** A build of three slow steps by the stock client for Python. Each appends a line to a file that the template keeps. */
export class SlowBuild implements AsyncDisposable {
  readonly #program: PythonProgram;
  readonly #name: string;
  #end: string | undefined;

  private constructor(program: PythonProgram, name: string) {
    this.#program = program;
    this.#name = name;
  }

  static async begin(name: string): Promise<SlowBuild> {
    return new SlowBuild(await startPython('slow_build.py', { TEMPLATE_NAME: name }, 400_000), name);
  }

  /** What a sandbox of the template reads at `/home/user/steps`: each step has run once. */
  get steps(): string {
    return [0, 1, 2].map((number) => `${number} of ${this.#name}\n`).join('');
  }

  /** Returns when the client has shown the step, or the build has ended. */
  async waitForStep(number: number): Promise<void> {
    await this.#readUntil((message) => message.includes(`[builder ${number}/3] `));
  }

  /** `ready`, or the error that the client raised. */
  async waitForEnd(): Promise<string> {
    await this.#readUntil(() => false);
    return this.#end ?? '';
  }

  async #readUntil(isWanted: (message: string) => boolean): Promise<void> {
    while (this.#end === undefined) {
      const { message = '', end } = line.parse(await this.#program.nextLine());
      this.#end = end;
      if (isWanted(message)) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}
