import { describe, expect, it } from 'vitest';
import { getAbsentDeps, listRoutes } from './routes.ts';

/** Whether every request to the second path also fits the first, which then answers it. */
function hides(first: string, second: string): boolean {
  const [general, special] = [first.split('/'), second.split('/')];
  if (general.some((part) => part.startsWith('{*'))) return false;
  return general.length === special.length && general.every((part, at) => part === special[at] || part.startsWith('{'));
}

describe('the routes', () => {
  const routes = listRoutes(getAbsentDeps()).map(({ method, path }) => ({ method, path }));

  it('have no path with a parameter before one with a word in its place', () => {
    const hidden = routes.flatMap(({ method, path }, index) =>
      routes
        .slice(0, index)
        .filter((earlier) => earlier.method === method && hides(earlier.path, path))
        .map((earlier) => `${method} ${path} is hidden by ${earlier.path}`),
    );
    expect(hidden).toEqual([]);
  });

  it.each([
    ['delete', '/templates/tags', '/templates/{templateID}'],
    ['get', '/sandboxes/metrics', '/sandboxes/{sandboxID}'],
  ])('%s %s comes before %s', (method, word, parameter) => {
    const find = (wanted: string): number =>
      routes.findIndex(({ method: given, path }) => given === method && path === wanted);
    expect(find(word)).toBeGreaterThanOrEqual(0);
    expect(find(word)).toBeLessThan(find(parameter));
  });
});
