import { getNotes } from './changelog.ts';

/** What carries the version of a release. */
export interface Versions {
  readonly tag: string;
  /** `version` and `appVersion` of the chart. */
  readonly chart: { readonly version: string; readonly appVersion: string };
  /** Version of each package of the workspace, by its path. */
  readonly packages: Readonly<Record<string, string>>;
  readonly changelog: string;
}

const TAG = /^v(?<version>\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;

/** Returns the version in a tag such as `v1.2.3`. Throws for other tags. */
export function parseTag(tag: string): string {
  const version = TAG.exec(tag)?.groups?.['version'];
  if (version === undefined) throw new Error(`the tag "${tag}" is no version: use one like v1.2.3 or v1.2.3-rc.1`);
  return version;
}

/** Returns what keeps the commit from being released under the tag, a line for each reason. */
export function findObstacles({ tag, chart, packages, changelog }: Versions): readonly string[] {
  const version = parseTag(tag);
  const others = Object.entries(packages).filter(([, found]) => found !== version);
  return [
    ...(chart.version === version ? [] : [`Chart.yaml: version is ${chart.version}, and the tag says ${version}`]),
    ...(chart.appVersion === version ? [] : [`Chart.yaml: appVersion is ${chart.appVersion}, not ${version}`]),
    ...others.map(([path, found]) => `${path}: version is ${found}, not ${version}`),
    ...findObstacleOfNotes(changelog, version),
  ];
}

function findObstacleOfNotes(changelog: string, version: string): readonly string[] {
  try {
    getNotes(changelog, version);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
