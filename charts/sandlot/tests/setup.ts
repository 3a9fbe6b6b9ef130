import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import type {} from './renderings.ts';

/** Creates the folder that the test files share, and removes it after the run. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'sandlot-renderings-'));
  project.provide('renderings', folder);
  return () => rm(folder, { recursive: true, force: true });
}
