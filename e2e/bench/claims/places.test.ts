import { expect, it } from 'vitest';
import { divide, findPlace, listPlaces } from './places.ts';

const places = listPlaces(3);

it('gives objects to the namespaces in turn, and each namespace its share of the pools', () => {
  expect(places).toEqual(['bench', 'bench-1', 'bench-2']);
  const names = Array.from({ length: 7 }, (_, at) => `claim-${at}`);
  const found = Map.groupBy(names, (name) => findPlace(places, name));
  expect(found.get('bench')).toEqual(['claim-0', 'claim-3', 'claim-6']);
  for (const [place, share] of divide(7, places)) expect(found.get(place)).toHaveLength(share);
});

it('puts an object without a number into the first namespace', () => {
  expect(findPlace(places, 'batch')).toBe('bench');
});

it('has one namespace where nothing else is asked for', () => {
  expect(listPlaces(1)).toEqual(['bench']);
  expect(findPlace(listPlaces(1), 'claim-5')).toBe('bench');
  expect(divide(5, listPlaces(1))).toEqual(new Map([['bench', 5]]));
});
