import { expect, it } from 'vitest';
import { formatSize } from './format-size.ts';

it.each([
  [0, '0'],
  [9_999, '9999'],
  [10_000, '10Ki'],
  [31_457_280, '30Mi'],
  [31_457_281, '31Mi'],
  [220_200_960, '210Mi'],
  [8_589_934_592, '8192Mi'],
  [107_374_182_400, '100Gi'],
  [20_000 * 1024 ** 3, '20000Gi'],
])('%i bytes are %s', (bytes, size) => {
  expect(formatSize(bytes)).toBe(size);
});
