import { readOrFail } from './checks/read.ts';
import type { Read } from './checks/read.ts';

/** What the tables are checked against: its name in Markdown, and where this repository has its version. */
const sources = {
  agentSandbox: {
    name: 'agent-sandbox',
    file: 'tools/local-cluster/go-agent-sandbox/go.mod',
    version: /^\tsigs\.k8s\.io\/agent-sandbox v(\S+)$/m,
  },
  pythonClient: {
    name: '`k8s-agent-sandbox`',
    file: 'e2e/src/sdk/python/requirements.txt',
    version: /^k8s-agent-sandbox==(\S+)/m,
  },
  e2b: { name: '`e2b` for JavaScript', file: 'e2e/package.json', version: /"e2b": "([^"]+)"/ },
} as const;

export type SourceName = keyof typeof sources;

/** Each source with its version, such as `agent-sandbox 0.5.0`. */
export type Versions = Readonly<Record<SourceName, string>>;

export function readVersions(read: Read): Versions {
  const find = (source: SourceName): string => {
    const { name, file, version } = sources[source];
    const found = version.exec(readOrFail(read, file))?.[1];
    if (found === undefined) throw new Error(`${file} has no version of ${name}`);
    return `${name} ${found}`;
  };
  return { agentSandbox: find('agentSandbox'), pythonClient: find('pythonClient'), e2b: find('e2b') };
}
