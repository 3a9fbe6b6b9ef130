import { expect, it } from 'vitest';
import { notebook, podOf } from '../../test/builders.ts';
import { isUrgent } from './priority.ts';

const starting = podOf(notebook(), { phase: 'Pending' });
const ready = podOf(notebook());

it.each([
  ['a Pod that becomes Ready is urgent', starting, ready, true],
  ['a Pod that loses Ready is urgent', ready, podOf(notebook(), { ready: false }), true],
  ['a Ready Pod that is deleted is urgent', ready, undefined, true],
  ['a new Pod waits its turn', undefined, starting, false],
  ['a Pod that is scheduled waits its turn', podOf(notebook(), { phase: 'Pending', node: '' }), starting, false],
  ['a Ready Pod that changes otherwise waits its turn', ready, podOf(notebook(), { ips: ['10.0.0.8'] }), false],
])('%s', (...[, old, next, urgent]) => {
  expect(isUrgent({ old, next })).toBe(urgent);
});
