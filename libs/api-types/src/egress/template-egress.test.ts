import { describe, expect, it } from 'vitest';
import { annotations } from '../catalogue/keys.ts';
import { findTemplateEgress, formatTemplateEgress } from './template-egress.ts';
import type { TemplateEgress } from './template-egress.ts';

const NOTHING: TemplateEgress = { mode: 'Proxied', names: [], within: [] };
const read = (text: string | undefined) =>
  findTemplateEgress({ metadata: text === undefined ? {} : { annotations: { [annotations.egress]: text } } });

describe('the egress of a template', () => {
  it('is Direct without the annotation, and if it says so', () => {
    expect([read(undefined), read('{"mode":"Direct"}')]).toEqual([undefined, undefined]);
  });

  it.each<TemplateEgress>([
    { mode: 'OnDemand' },
    { mode: 'Proxied', names: ['example.com'], within: [], isObserved: true },
    NOTHING,
    {
      mode: 'Proxied',
      names: ['example.com', '*.x.org:8443'],
      within: [
        { cidr: '0.0.0.0/0', except: ['203.0.113.0/24'], ports: [] },
        { cidr: '::/0', except: [], ports: [[443, 443]] },
      ],
    },
  ])('is read as it is written: %j', (egress) => {
    expect(read(formatTemplateEgress(egress))).toEqual(egress);
  });

  it('is read into its normal form', () => {
    const text = '{"mode":"Proxied","names":["EXAMPLE.com."],"within":[{"cidr":"192.0.2.7/24"}],"later":1}';
    expect(read(text)).toEqual({
      mode: 'Proxied',
      names: ['example.com'],
      within: [{ cidr: '192.0.2.0/24', except: [], ports: [] }],
    });
  });

  it.each([
    '',
    '{',
    'null',
    '{}',
    '"OnDemand"',
    '{"mode":"Open"}',
    '{"mode":"Proxied","names":"*"}',
    '{"mode":"Proxied","names":["*","10.0.0.1"]}',
    '{"mode":"Proxied","names":["*"],"within":["0.0.0.0/0"]}',
    '{"mode":"Proxied","names":["*"],"within":[{"cidr":"all"}]}',
    '{"mode":"Proxied","names":["*"],"within":[{"cidr":"0.0.0.0/0","ports":[443]}]}',
    '{"mode":"Proxied","names":["*"],"within":[{"cidr":"0.0.0.0/0","except":["local"]}]}',
  ])('that cannot be read is nothing: %s', (text) => {
    expect(read(text)).toEqual(NOTHING);
  });
});
