import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkoutRoot } from '@sandlot/up';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { listPulledImages, listReleaseImages } from './images.ts';
import type { ImageValues } from './images.ts';

const VERSION = '9.8.7';
const values = parse(await readFile(join(checkoutRoot, 'charts/sandlot/values.yaml'), 'utf8')) as ImageValues;

describe('the images of a release', () => {
  test('have a Dockerfile, and build on images of earlier steps', async () => {
    const built = new Set(['']);
    for (const step of listReleaseImages()) {
      for (const { dockerfile, base } of step) {
        expect(await readFile(join(checkoutRoot, dockerfile), 'utf8')).toContain('FROM');
        expect(built).toContain(base);
      }
      for (const { name } of step) built.add(name);
    }
  });
});

test('the workflow of a release builds and joins each step of images', async () => {
  const workflow = await readFile(join(checkoutRoot, '.github/workflows/release.yml'), 'utf8');
  const steps = [...workflow.matchAll(/outputs\.steps\)\[(\d+)\]/g)].map(([, index]) => Number(index));
  expect(steps).toEqual(listReleaseImages().flatMap((_, index) => [index, index]));
});

describe('the list of images', () => {
  // Each rendering has a registry, a version or digests of its own.
  const renderings = globSync('charts/sandlot/tests/golden/*.yaml', { cwd: checkoutRoot });
  const getName = (image: string): string => image.replace(/(?::[^:/]+)?(?:@.+)?$/, '').replace(/^.*\//, '');
  const listed = new Set(listPulledImages(values, VERSION).map(getName));

  test.each(renderings)('has each image that %s names', async (path) => {
    const rendering = await readFile(join(checkoutRoot, path), 'utf8');
    const named = [...rendering.matchAll(/(?:^\s+(?:- )?image:|\bIMAGE, value:) "?(?<image>[^"\s]+)/gm)].map(
      ({ groups }) => getName(groups?.['image'] ?? ''),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => !listed.has(name))).toEqual([]);
  });

  test('carries the version of the release for ours, and their own for others', () => {
    const images = listPulledImages(values, VERSION);
    expect(images).toContain('ghcr.io/sandlot/runtime:9.8.7');
    expect(images.filter((image) => image.startsWith('docker.io/')).join()).not.toContain(VERSION);
  });
});
