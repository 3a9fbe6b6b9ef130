import { describe, expect, it } from 'vitest';
import { eventTypes } from '../src/events/catalogue.ts';
import { formatSchemaUrl } from '../src/events/cloudevent.ts';
import { listOutputs } from './outputs.ts';

const files = new Map(listOutputs().map(({ path, text }) => [path, JSON.parse(text) as Record<string, unknown>]));

function valueAt(document: unknown, pointer: string): unknown {
  return pointer.split('/').reduce((value, key) => (value as Record<string, unknown>)[key], document);
}

describe('the published catalogue', () => {
  it.each(eventTypes)('has a schema of %s under the name in its events', (type) => {
    const schema = files.get(`docs/events/v1/${type}.json`);
    expect(schema).toMatchObject({ $id: formatSchemaUrl(type), type: 'object' });
    expect(schema?.['required']).toEqual(expect.arrayContaining(['namespace', 'name', 'uid']));
  });

  it('has a channel, an operation and a message for every type, and no dangling references', () => {
    const document = files.get('docs/events/asyncapi.json');
    expect(Object.keys(document?.['channels'] ?? {})).toEqual(eventTypes);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, name = '']) => name);
    for (const reference of references) {
      const [file = '', pointer = ''] = reference.split('#/');
      const target = file === '' ? document : files.get(`docs/events/${file.slice(2)}`);
      expect(pointer === '' ? target : valueAt(target, pointer)).toBeDefined();
    }
  });
});
