import { PREVIEW_PARAMETER } from '@sandlot/tenancy';

export interface TakenPreview {
  /** The request target without the parameter, which the sandbox must not see. */
  readonly path: string;
  /** The value of the parameter, the first one; undefined: there is none. */
  readonly preview: string | undefined;
}

const START = `${PREVIEW_PARAMETER}=`;

/** Takes the parameter of a preview out of a request target, which stays as the client wrote it otherwise. */
export function takePreview(path: string): TakenPreview {
  if (!path.includes(START)) return { path, preview: undefined };
  const [before = '', ...rest] = path.split('?');
  const pairs = rest.join('?').split('&');
  const kept = pairs.filter((pair) => !pair.startsWith(START));
  const first = pairs.find((pair) => pair.startsWith(START));
  if (first === undefined) return { path, preview: undefined };
  return { path: kept.length === 0 ? before : `${before}?${kept.join('&')}`, preview: first.slice(START.length) };
}
