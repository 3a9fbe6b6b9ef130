import { CommandExitError, Sandbox } from '@e2b/code-interpreter';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAccess, LIFETIME_MS } from '../support/sdk/client.ts';

/** The stock JavaScript client with its default template. */
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await Sandbox.create({ ...(await readAccess()), timeoutMs: LIFETIME_MS });
});
afterAll(() => sandbox.kill());

describe('a pause', () => {
  it('keeps the variables of every kernel', async () => {
    const access = await readAccess();
    const paused = await Sandbox.create({ ...access, timeoutMs: LIFETIME_MS });
    try {
      const context = await paused.createCodeContext({ cwd: '/tmp' });
      await paused.runCode('import secrets\nkept = secrets.token_hex(8)');
      await paused.runCode('apart = 7', { context });
      const { text } = await paused.runCode('kept');
      await paused.pause();
      await Sandbox.connect(paused.sandboxId, access);
      expect((await paused.runCode('kept')).text).toBe(text);
      expect((await paused.runCode('apart * 6', { context })).text).toBe('42');
    } finally {
      await paused.kill();
    }
  });
});

describe('runCode', () => {
  it('keeps state, returns the value of the last line, and streams output', async () => {
    const seen: string[] = [];
    await sandbox.runCode('x = 41');
    const execution = await sandbox.runCode('import sys\nprint("out")\nprint("err", file=sys.stderr)\nx + 1', {
      onStdout: ({ line, error }) => void seen.push(`${line}${String(error)}`),
      onStderr: ({ line, error }) => void seen.push(`${line}${String(error)}`),
      onResult: ({ text }) => void seen.push(`result ${text ?? ''}`),
    });
    expect(execution.text).toBe('42');
    expect(execution.logs).toEqual({ stdout: ['out\n'], stderr: ['err\n'] });
    expect(seen.toSorted()).toEqual(['err\ntrue', 'out\nfalse', 'result 42']);
    expect(execution.executionCount).toBeGreaterThan(1);
  });

  it('reports exceptions in the result and the callback', async () => {
    const names: string[] = [];
    const { error, results } = await sandbox.runCode('1 / 0', { onError: ({ name }) => void names.push(name) });
    expect(error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' });
    expect(error?.traceback).toContain('ZeroDivisionError');
    expect([names, results]).toEqual([['ZeroDivisionError'], []]);
  });

  it.each([
    ['a picture', 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()', 'png', /^iVBORw0K/],
    ['a page', 'from IPython.display import HTML\nHTML("<b>bold</b>")', 'html', /^<b>bold<\/b>$/],
    ['mathematics', 'from IPython.display import Latex\nLatex("$x$")', 'latex', /^\$x\$$/],
  ] as const)('returns %s as a result', async (...[, code, form, like]) => {
    const { results, error } = await sandbox.runCode(code);
    expect(error).toBeUndefined();
    expect(results[0]?.formats()).toContain(form);
    expect(results[0]?.[form]).toMatch(like);
  });

  it('returns JSON as data', async () => {
    const { results } = await sandbox.runCode('from IPython.display import JSON\nJSON({"a": [1]})');
    expect(results[0]?.json).toEqual({ a: [1] });
  });

  it('sets variables for one execution', async () => {
    const code = 'import os\nos.environ.get("OWN")';
    expect((await sandbox.runCode(code, { envs: { OWN: 'yes' } })).text).toBe('yes');
    expect((await sandbox.runCode(code)).text).toBeUndefined();
  });

  it('fails at its timeout', async () => {
    await expect(sandbox.runCode('import time\ntime.sleep(60)', { timeoutMs: 1_000 })).rejects.toThrow();
    expect((await sandbox.runCode('"next"')).text).toBe('next');
  });

  it('can import what pip installs', async () => {
    // A minimal wheel, which pip installs without an index.
    const files = {
      'tiny.py': 'SIZE = 7',
      'tiny-1.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n',
      'tiny-1.dist-info/WHEEL': 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
      'tiny-1.dist-info/RECORD': '',
    };
    const written = Object.entries(files).map(([name, text]) => `wheel.writestr("${name}", "${text}")`);
    const made = ['import zipfile', 'wheel = zipfile.ZipFile("tiny-1-py3-none-any.whl", "w")', ...written];
    await sandbox.runCode([...made, 'wheel.close()'].join('\n'));
    const { logs } = await sandbox.runCode(
      '!pip install --no-index tiny-1-py3-none-any.whl\nimport tiny\nprint(tiny.SIZE)',
    );
    expect(logs.stdout.join('')).toMatch(/Successfully installed tiny-1[^]*\n7\n$/);
  });

  it('shares files with commands', async () => {
    await sandbox.runCode('open("made.txt", "w").write("by code")');
    expect(await sandbox.files.read('made.txt')).toBe('by code');
    expect((await sandbox.commands.run('cat made.txt')).stdout).toBe('by code');
    await expect(sandbox.commands.run('exit 3')).rejects.toThrow(CommandExitError);
  });
});

describe('a context', () => {
  it('has its own state and folder, is listed, restarted and removed', async () => {
    const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' });
    expect(context).toMatchObject({ language: 'python', cwd: '/tmp' });
    await sandbox.runCode('apart = 1', { context });
    expect((await sandbox.runCode('import os\nf"{apart} {os.getcwd()}"', { context })).text).toBe('1 /tmp');
    expect((await sandbox.runCode('apart')).error?.name).toBe('NameError');
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).toContain(context.id);
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode('apart', { context })).error?.name).toBe('NameError');
    await sandbox.removeCodeContext(context.id);
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
    await expect(sandbox.runCode('1', { context })).rejects.toThrow(/not found/i);
  });
});
