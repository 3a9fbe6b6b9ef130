import { expect, it } from 'vitest';
import { findDaemonImage } from './daemon-image.ts';

it.each([
  ['the volume is an image', [{ name: 'sandlot-runtime', image: { reference: 'runtime:1' } }], 'runtime:1'],
  ['an installer fills the volume', [{ name: 'sandlot-runtime', emptyDir: {} }], undefined],
  ['another volume is an image', [{ name: 'tools', image: { reference: 'tools:1' } }], undefined],
  ['the Pod has no volumes', undefined, undefined],
])('finds the image of the daemon when %s', (_what, volumes, expected) => {
  const spec = { containers: [], ...(volumes === undefined ? {} : { volumes }) };
  expect(findDaemonImage({ spec })).toBe(expected);
});
