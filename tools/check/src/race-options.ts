import { spawnSync } from 'node:child_process';

/** Enables the race detector where a C compiler can build it. */
export function raceOptions(): { args: string[]; env: NodeJS.ProcessEnv } {
  const compiler = spawnSync('cc', ['--version'], { stdio: 'ignore' }).status === 0;
  return compiler ? { args: ['-race'], env: { CGO_ENABLED: '1' } } : { args: [], env: { CGO_ENABLED: '0' } };
}
