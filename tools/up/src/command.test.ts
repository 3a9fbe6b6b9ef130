import { describe, expect, it } from 'vitest';
import { run, runOrFail } from './command.ts';

const node = process.execPath;

describe('run', () => {
  it('returns the output and exit code, and reports every line', async () => {
    const lines: string[] = [];
    const script = 'process.stdout.write("a\\nb\\n"); process.stderr.write("c\\n"); process.exitCode = 3';
    const result = await run([node, '-e', script], { onLine: (line) => lines.push(line) });
    expect(result).toEqual({ stdout: 'a\nb\n', stderr: 'c\n', code: 3 });
    expect(lines.sort()).toEqual(['a', 'b', 'c']);
  });

  it('passes the input to the command', async () => {
    expect((await run([node, '-e', 'process.stdin.pipe(process.stdout)'], { input: 'hello' })).stdout).toBe('hello');
  });

  it('returns code 127 for a missing program, and runOrFail names the step that failed', async () => {
    expect(await run(['/no/such/program'])).toMatchObject({ code: 127 });
    await expect(runOrFail('Looking', [node, '-e', 'process.exit(4)'])).rejects.toThrow(
      /Looking: .* ended with code 4/,
    );
  });

  it('kills a command at its timeout and says so', async () => {
    const result = await run([node, '-e', 'setInterval(() => {}, 1000)'], { timeoutMs: 20 });
    expect(result.code).not.toBe(0);
    expect(result.stderr).toContain('stopped by SIGKILL');
  });
});
