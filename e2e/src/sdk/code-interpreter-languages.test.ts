import { Sandbox } from '@e2b/code-interpreter';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';

/** How long a client waits for a sandbox of an image that the node may have to pull first, and for a JVM to start. */
const COLD_MS = 180_000;

let sandbox: Sandbox;
let full: Sandbox;
beforeAll(async () => {
  const access = await readAccess();
  [sandbox, full] = await Promise.all([
    Sandbox.create({ ...access, timeoutMs: LIFETIME_MS }),
    Sandbox.create('code-interpreter-full', { ...access, timeoutMs: LIFETIME_MS, requestTimeoutMs: COLD_MS }),
  ]);
});
afterAll(() => Promise.all([sandbox.kill(), full.kill()]));

interface Language {
  readonly language: string;
  readonly of: () => Sandbox;
  /** Sets `x` to 41, and returns or prints one more. */
  readonly first: string;
  readonly second: string;
  readonly fail: string;
  readonly error: { readonly name: string; readonly value: RegExp };
  /** Prints or returns the variable OWN. */
  readonly variable: string;
  readonly endless: string;
}

const languages: readonly Language[] = [
  {
    language: 'javascript',
    of: () => sandbox,
    first: 'const x = 41',
    second: 'x + 1',
    fail: 'null.x',
    error: { name: 'TypeError', value: /Cannot read properties of null/ },
    variable: 'process.env.OWN',
    endless: 'while (true);',
  },
  {
    language: 'typescript',
    of: () => sandbox,
    first: 'enum Size { Big = 41 }\nconst x: number = Size.Big',
    second: '(x as number) + 1',
    fail: 'throw new RangeError("far")',
    error: { name: 'RangeError', value: /^far$/ },
    variable: 'process.env.OWN as string',
    endless: 'await new Promise(() => setTimeout(() => {}, 1e6))',
  },
  {
    language: 'bash',
    of: () => sandbox,
    first: 'x=41',
    second: 'echo $((x + 1))',
    fail: 'no-such-command',
    error: { name: '', value: /^127$/ },
    variable: 'echo $OWN',
    endless: 'sleep 600',
  },
  {
    language: 'r',
    of: () => full,
    first: 'x <- 41',
    second: 'x + 1',
    fail: 'stop("far")',
    error: { name: 'ERROR', value: /far/ },
    variable: 'Sys.getenv("OWN")',
    endless: 'repeat Sys.sleep(0.1)',
  },
  {
    language: 'java',
    of: () => full,
    first: 'int x = 41;',
    second: 'x + 1',
    fail: 'throw new IllegalStateException("far");',
    error: { name: 'RuntimeException', value: /IllegalStateException, far/ },
    variable: 'System.getProperty("OWN")',
    endless: 'while (true);',
  },
];

/** Runs code, and returns its result or what it printed. */
async function run({ of, language }: Language, code: string, envs: Record<string, string> = {}): Promise<string> {
  const { results, logs, error } = await of().runCode(code, { language, envs, requestTimeoutMs: COLD_MS });
  expect(error).toBeUndefined();
  // R shows values as it shows pictures, and counts them: `[1] 42`.
  return (results[0]?.text ?? logs.stdout.join('')).replace(/^\[1\] /, '').trim();
}

describe.each(languages)('$language', (language) => {
  it('keeps its variables from one execution to the next', async () => {
    await run(language, language.first);
    expect(await run(language, language.second)).toBe('42');
  });

  it('reports an error by name and value', async () => {
    const { error } = await language.of().runCode(language.fail, { language: language.language });
    expect(error?.name).toBe(language.error.name);
    expect(error?.value).toMatch(language.error.value);
  });

  it('has the variables of one execution, and takes them back', async () => {
    const value = `it's "two"\nlines`;
    expect(await run(language, language.variable, { OWN: value })).toContain('it');
    expect(await run(language, language.variable)).not.toContain('it');
  });

  it('is interrupted when its client gives up, and keeps its variables', async () => {
    const { language: name } = language;
    await expect(language.of().runCode(language.endless, { language: name, timeoutMs: 1_500 })).rejects.toThrow();
    expect(await run(language, language.second)).toBe('42');
  });

  it('has contexts with a state and a folder of their own, which a restart empties', async () => {
    const { language: name } = language;
    const kernels = language.of();
    const options = { language: name.toUpperCase(), cwd: '/tmp', requestTimeoutMs: COLD_MS };
    const context = await kernels.createCodeContext(options);
    expect(context).toMatchObject({ language: name, cwd: '/tmp' });
    await kernels.runCode(language.first, { context });
    await kernels.restartCodeContext(context);
    const { results, logs, error } = await kernels.runCode(language.second, { context });
    // To Bash a variable that is not set is 0.
    expect([results, logs.stdout, error === undefined]).toEqual([[], name === 'bash' ? ['1\n'] : [], name === 'bash']);
    await kernels.removeCodeContext(context.id);
    await expect(kernels.runCode('1', { context })).rejects.toThrow(/not found/i);
  });
});

describe('a cell of JavaScript', () => {
  it.each([
    ['awaits', 'await Promise.resolve(7)', '7'],
    ['imports modules', 'import { join } from "node:path"\njoin("a", "b")', 'a/b'],
    ['requires modules', 'require("node:path").join("a", "b")', 'a/b'],
    ['declares a constant again', 'const x = 1\nx', '1'],
    ['runs in the home of the user', 'process.cwd()', '/home/user'],
    ['returns an object', '({ a: [1] })', '{ a: [ 1 ] }'],
  ] as const)('%s', async (...[, code, text]) => {
    expect(await sandbox.runCode(code, { language: 'js' })).toMatchObject({ text, error: undefined });
  });

  it('streams what it prints, and what its processes print', async () => {
    const code =
      'console.log("out"); console.error("err"); require("child_process").execSync("echo child >&2", { stdio: "inherit" })';
    const { logs } = await sandbox.runCode(code, { language: 'js' });
    expect([logs.stdout.join(''), logs.stderr.join('')]).toEqual(['out\n', 'err\nchild\n']);
  });

  it('whose value never says what it is can be interrupted', async () => {
    const value = '({ [Symbol.for("nodejs.util.inspect.custom")]() { for (;;); } })';
    await expect(sandbox.runCode(value, { language: 'js', timeoutMs: 1_500 })).rejects.toThrow();
    expect((await sandbox.runCode('1 + 1', { language: 'js' })).text).toBe('2');
  });

  it('that ends its process leaves a kernel for the next one', async () => {
    await sandbox.runCode('process.exit(3)', { language: 'js' });
    expect((await sandbox.runCode('1 + 1', { language: 'js' })).text).toBe('2');
  });
});

describe('kernels', () => {
  it('exist for Python and JavaScript from the start, and keep their variables over a pause', async () => {
    const access = await readAccess();
    const fresh = await Sandbox.create({ ...access, timeoutMs: LIFETIME_MS });
    try {
      const contexts = await fresh.listCodeContexts();
      expect(contexts.map(({ language }) => language).toSorted()).toEqual(['javascript', 'python']);
      await fresh.runCode('const kept = process.pid', { language: 'js' });
      await fresh.pause();
      await Sandbox.connect(fresh.sandboxId, access);
      expect((await fresh.runCode('kept === process.pid', { language: 'js' })).text).toBe('true');
    } finally {
      await fresh.kill();
    }
  });

  it('that the image lacks are refused', async () => {
    const refusal = /500/;
    await expect(sandbox.runCode('1', { language: 'R' })).rejects.toThrow(refusal);
    await expect(sandbox.createCodeContext({ language: 'r' })).rejects.toThrow(refusal);
  });

  it('of R draw pictures', async () => {
    const { results } = await full.runCode('plot(1:3)', { language: 'r' });
    expect(results[0]?.png).toMatch(/^iVBORw0K/);
  });
});
