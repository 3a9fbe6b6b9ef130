// The namespaces of a scenario. Claims, members of pools and Sandboxes at rest go to them in turn, by the number in their name.
import type { KubeObject, Resource } from '@sandlot/kube';
import { NAMESPACE } from './stage.ts';
import type { Stage } from './stage.ts';

/** The first one is that of scenarios with one. */
export function listPlaces(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => (at === 0 ? NAMESPACE : `${NAMESPACE}-${at}`));
}

/** The namespace of an object whose name may end with a number. */
export function findPlace(places: readonly string[], name: string): string {
  const [, digits = '0'] = /-(\d+)$/.exec(name) ?? [];
  return places[Number(digits) % places.length] ?? NAMESPACE;
}

/** How many of `count` objects, numbered from 0, each namespace gets. */
export function divide(count: number, places: readonly string[]): ReadonlyMap<string, number> {
  const last = places.length - 1;
  return new Map(places.map((place, at) => [place, Math.floor((count + last - at) / places.length)]));
}

/** All objects of a kind in the namespaces of the scenario. */
export async function listEverywhere<T extends KubeObject>(
  { client, places }: Stage,
  resource: Resource<T>,
): Promise<readonly T[]> {
  const lists = await Promise.all(places.map((namespace) => client.listAll(resource, { namespace })));
  return lists.flatMap(({ items }) => items);
}
