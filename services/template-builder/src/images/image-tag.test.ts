import { expect, it } from 'vitest';
import { findBuildOfTag, formatImageTag } from './image-tag.ts';

const MINE = '11111111-2222-3333-4444-555555555555';
const BUILD = '0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f';

it.each([
  ['of this installation', formatImageTag(MINE, BUILD), BUILD],
  ['of another installation', formatImageTag(MINE.replace('1', '2'), BUILD), undefined],
  ['without an installation', BUILD, undefined],
  ['that says no build', `${MINE}-`, undefined],
  ['that says something else', `${MINE}-${BUILD}-x`, undefined],
  ['that no build made', 'latest', undefined],
])('a tag %s', (_, tag, build) => {
  expect(findBuildOfTag(tag, MINE)).toBe(build);
});
