// What the lock files must say about the packages that are installed here and that ship in images.

/** A package in `package-lock.json`, by its path. Only the fields that the rules read. */
export interface LockedPackage {
  readonly version?: string | undefined;
  readonly integrity?: string | undefined;
  readonly license?: string | undefined;
  readonly hasInstallScript?: boolean | undefined;
  /** A workspace, whose folder is `resolved`. */
  readonly link?: boolean | undefined;
  readonly resolved?: string | undefined;
  readonly dependencies?: Readonly<Record<string, string>> | undefined;
  readonly devDependencies?: Readonly<Record<string, string>> | undefined;
  readonly optionalDependencies?: Readonly<Record<string, string>> | undefined;
}

export interface SupplyChain {
  readonly packages: Readonly<Record<string, LockedPackage>>;
  /** Of `package.json`: which packages may run scripts at their installation. */
  readonly allowScripts: Readonly<Record<string, boolean>>;
  /** Texts of `go.mod` and `go.sum` by the folder of the module. */
  readonly modules: Readonly<Record<string, { readonly mod: string; readonly sum: string }>>;
  /** Texts of the requirements of pip, by their path. */
  readonly requirements: Readonly<Record<string, string>>;
}

const INSIDE = 'node_modules/';

/** Licences that allow us to ship a package in an image under Apache-2.0. */
const LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
]);

/** Packages that point to the file of their repository, which has MIT, and Apache-2.0 for later parts. */
const LICENCE_IN_FILE: ReadonlySet<string> = new Set(
  ['filesystem', 'memory', 'sequential-thinking'].map((name) => `@modelcontextprotocol/server-${name}`),
);

/** Packages that ship in two major versions, and which package still needs the old one. */
const TWICE: Readonly<Record<string, string>> = {
  'content-type': '@modelcontextprotocol/sdk reads types of bodies with version 1',
  'ipaddr.js': 'proxy-addr of express reads addresses of proxies with version 1',
  'mime-types': 'form-data of @kubernetes/client-node has version 2',
  '@types/node': 'types alone; no code of it runs',
  'undici-types': 'types alone; no code of it runs',
};

/** Everything that is wrong, one text each. */
export function findSupplyChainProblems(chain: SupplyChain): string[] {
  const shipped = listShipped(chain.packages);
  return [
    ...findUnlocked(chain.packages),
    ...findScripts(chain),
    ...shipped.flatMap(([path, { license }]) =>
      LICENCES.has(license ?? '') || LICENCE_IN_FILE.has(getPackageName(path))
        ? []
        : [`${path} ships with licence "${license ?? 'none'}", which is not in the list`],
    ),
    ...findTwice(shipped),
    ...findInexact(chain.packages),
    ...Object.entries(chain.modules).flatMap(([folder, texts]) => findUnsummed(folder, texts)),
    ...Object.entries(chain.requirements).flatMap(([file, text]) => findUnhashed(file, text)),
  ];
}

type Entry = readonly [path: string, one: LockedPackage];

function getPackageName(path: string): string {
  return path.slice(path.lastIndexOf(INSIDE) + INSIDE.length);
}

function isForeign([path, { link }]: Entry): boolean {
  return path.includes(INSIDE) && link !== true;
}

function findUnlocked(packages: SupplyChain['packages']): string[] {
  return Object.entries(packages)
    .filter((entry) => isForeign(entry) && entry[1].integrity?.startsWith('sha512-') !== true)
    .map(([path]) => `${path} has no SHA-512 digest in package-lock.json; install it again`);
}

function findScripts({ packages, allowScripts }: SupplyChain): string[] {
  return Object.entries(packages)
    .filter(
      ([path, { hasInstallScript }]) => hasInstallScript === true && !Object.hasOwn(allowScripts, getPackageName(path)),
    )
    .map(([path]) => `${path} runs a script when it is installed; decide about it in allowScripts of package.json`);
}

/** Two copies of a library behave differently, and the older one is often the unmaintained one. */
function findTwice(shipped: readonly Entry[]): string[] {
  const majors = new Map<string, Set<string>>();
  for (const [path, { version = '' }] of shipped) {
    const name = getPackageName(path);
    majors.set(name, (majors.get(name) ?? new Set()).add(version.split('.')[0] ?? ''));
  }
  const twice = [...majors].filter(([, versions]) => versions.size > 1).map(([name]) => name);
  return [
    ...twice
      .filter((name) => !Object.hasOwn(TWICE, name))
      .map((name) => `${name} ships in several major versions: ${[...(majors.get(name) ?? [])].sort().join(' and ')}`),
    ...Object.keys(TWICE)
      .filter((name) => !twice.includes(name))
      .map((name) => `${name} no longer ships twice; delete it from TWICE in supply-chain-rules.ts`),
  ];
}

/** A range would let a lock file that is made anew choose other code. */
function findInexact(packages: SupplyChain['packages']): string[] {
  return Object.entries(packages).flatMap(([path, { dependencies, devDependencies }]) => {
    if (path.includes(INSIDE)) return [];
    return Object.entries({ ...dependencies, ...devDependencies })
      .filter(
        ([name, version]) =>
          !name.startsWith('@sandlot/') && !/^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+[\w.+-]*$/.test(version),
      )
      .map(([name, version]) => `${path === '' ? 'package.json' : path}: ${name} "${version}" is no exact version`);
  });
}

function findUnsummed(folder: string, { mod, sum }: { readonly mod: string; readonly sum: string }): string[] {
  const sums = new Set(
    sum.split('\n').map((line) =>
      line
        .split(' ')
        .slice(0, 2)
        .join(' ')
        .replace(/\/go\.mod$/, ''),
    ),
  );
  const required = [...mod.matchAll(/^(?:require )?\s*([\w.-]+\.[\w./~-]+) (v\S+)(?: \/\/ indirect)?$/gm)];
  const replaced = new Set([...mod.matchAll(/^(?:replace )?\s*([\w./~-]+)(?: v\S+)? => /gm)].map(([, name]) => name));
  return required
    .filter(([, name, version]) => !replaced.has(name) && !sums.has(`${name ?? ''} ${version ?? ''}`))
    .map(
      ([, name, version]) =>
        `${folder}/go.sum has no checksum of ${name ?? ''} ${version ?? ''}; run go mod tidy there`,
    );
}

/** Without a hash pip installs whatever the index, or who answers in its place, sends under the version. */
function findUnhashed(file: string, text: string): string[] {
  const entries = text
    .replaceAll(/\\\r?\n/g, ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
  return entries
    .filter((entry) => !/^[\w.-]+(\[[\w,.-]+\])?==[\w.!+]+(\s*;[^#]*?)?(\s+--hash=sha256:[0-9a-f]{64})+$/.test(entry))
    .map((entry) => `${file}: "${entry.split(' ')[0] ?? ''}" has no exact version with SHA-256 hashes; lock it again`);
}

/** Whether bundles of a workspace are in images. */
function isShipping(path: string): boolean {
  return (path.startsWith('services/') || path === 'tools/mcp-gateway') && !path.includes(INSIDE);
}

/** The foreign packages that the images contain. */
function listShipped(packages: SupplyChain['packages']): Entry[] {
  const reached = new Map<string, LockedPackage>();
  const waiting = Object.keys(packages).filter((path) => isShipping(path));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const one = packages[path];
    if (one === undefined || reached.has(path)) continue;
    reached.set(path, one);
    if (one.link === true) waiting.push(one.resolved ?? '');
    for (const name of Object.keys({ ...one.dependencies, ...one.optionalDependencies })) {
      waiting.push(resolvePath(packages, path, name) ?? '');
    }
  }
  return [...reached].filter(isForeign);
}

/** The path of the package that `name` means in the package at `from`, found as Node.js finds it. */
function resolvePath(packages: SupplyChain['packages'], from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/')))) {
    const path = `${folder === '' ? '' : `${folder}/`}${INSIDE}${name}`;
    if (Object.hasOwn(packages, path)) return path;
    if (folder === '') return undefined;
  }
}
