import { describe, expect, it } from 'vitest';
import { collectTags, readTemplateReference } from './reference.ts';
import { computeTemplateId } from './template-id.ts';

describe('a reference to a template', () => {
  it.each([
    ['my_app', { name: 'my_app' }],
    [' My-App ', { name: 'my-app' }],
    ['app:v1.2', { name: 'app', tag: 'v1.2' }],
    ['team-a/app', { team: 'team-a', name: 'app' }],
    ['team-a/app:v2', { team: 'team-a', name: 'app', tag: 'v2' }],
  ])('%j', (text, reference) => {
    expect(readTemplateReference(text)).toEqual(reference);
  });

  it.each([
    ['', 'Name is required'],
    ['  ', 'Name is required'],
    ['a b', "invalid template name 'a b': use a-z, 0-9, - and _, 128 characters at most"],
    ['a'.repeat(129), `invalid template name '${'a'.repeat(129)}': use a-z, 0-9, - and _, 128 characters at most`],
    ['a/b/c', "invalid template name '': use a-z, 0-9, - and _, 128 characters at most"],
    ['tags', "'tags' cannot be the name of a template"],
    ['app:', "invalid tag '': use a-z, 0-9, -, _ and ., 128 characters at most"],
    ['app:x y', "invalid tag 'x y': use a-z, 0-9, -, _ and ., 128 characters at most"],
    [
      'app:0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f',
      "invalid tag '0190b5a2-7c9e-7d7b-8f3a-2f1e3c4d5e6f': a tag cannot be a UUID",
    ],
    ['../app', "invalid namespace '..'"],
  ])('%j is refused', (text, problem) => {
    expect(readTemplateReference(text)).toEqual({ problem });
  });

  it('has the tags of its name and of the list, or the default one', () => {
    expect(collectTags({ name: 'a' }, [])).toEqual(['default']);
    expect(collectTags({ name: 'a', tag: 'v1' }, [' V2', 'v1'])).toEqual(['v1', 'v2']);
  });
});

describe('the id of a template', () => {
  it('is a DNS label that stays the same, and is of one team and name', () => {
    const ids = [
      computeTemplateId('a', 'b'),
      computeTemplateId('a', 'c'),
      computeTemplateId('ab', ''),
      computeTemplateId('', 'ab'),
    ];
    for (const id of ids) expect(id).toMatch(/^[a-z][a-z0-9]{19}$/);
    expect(new Set(ids).size).toBe(ids.length);
    expect(computeTemplateId('a', 'b')).toBe(ids[0]);
  });
});
