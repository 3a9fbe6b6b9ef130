import { describe, expect, it } from 'vitest';
import { takePreview } from './preview-parameter.ts';

describe('takePreview', () => {
  it.each([
    ['/', '/', undefined],
    ['/a?b=c', '/a?b=c', undefined],
    ['/?sandlot-preview=t', '/', 't'],
    ['/a?sandlot-preview=t&b=c', '/a?b=c', 't'],
    ['/a?b=c&sandlot-preview=t', '/a?b=c', 't'],
    ['/a?b&sandlot-preview=t&&c=%20', '/a?b&&c=%20', 't'],
    ['/a?sandlot-preview=t&sandlot-preview=u', '/a', 't'],
    ['/a?b=?sandlot-preview=t', '/a?b=?sandlot-preview=t', undefined],
    ['/sandlot-preview=t', '/sandlot-preview=t', undefined],
    ['/a?sandlot-preview=', '/a', ''],
  ])('reads %s', (given, path, preview) => {
    expect(takePreview(given)).toEqual({ path, preview });
  });
});
