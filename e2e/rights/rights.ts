// The rights of accounts, taken apart into single ones, and which of them requests used.

/** A rule of a Role or ClusterRole. */
export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[] | undefined;
  readonly resources?: readonly string[] | undefined;
  readonly resourceNames?: readonly string[] | undefined;
  readonly nonResourceURLs?: readonly string[] | undefined;
}

/** A Role, or a ClusterRole without a namespace. */
export interface Role {
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly rules: readonly Rule[];
}

/** A RoleBinding, or a ClusterRoleBinding without a namespace. */
export interface Binding {
  readonly namespace?: string | undefined;
  readonly role: { readonly kind: string; readonly name: string };
  /** Usernames. */
  readonly accounts: readonly string[];
}

/** One verb on one resource. */
export interface Right {
  /** Username. */
  readonly account: string;
  readonly verb: string;
  /** As kubectl writes it, with its subresource: `pods/exec`, `sandboxes.agents.x-k8s.io/status`; a path without a resource. */
  readonly resource: string;
  /** Undefined: everywhere. */
  readonly namespace?: string | undefined;
  /** Undefined: every object. */
  readonly name?: string | undefined;
}

/** A request that the API server authorised. */
export interface Request {
  readonly account: string;
  readonly verb: string;
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** A resource as kubectl writes it; `path` may have a subresource. */
export function formatResource(group: string, path: string): string {
  if (group === '') return path;
  const [plural = '', ...rest] = path.split('/');
  return [`${plural}.${group}`, ...rest].join('/');
}

/** Every single right that the bindings give. Wildcards stay as they are: no request uses one, so they count as not needed. */
export function listRights(bindings: readonly Binding[], roles: readonly Role[]): Right[] {
  return bindings.flatMap(({ namespace, role: { kind, name }, accounts }) => {
    const home = kind === 'ClusterRole' ? undefined : namespace;
    const role = roles.find((one) => one.name === name && one.namespace === home);
    const rules = role?.rules ?? [];
    return accounts.flatMap((account) =>
      rules.flatMap(expandRule).map((right): Right => ({ account, namespace, ...right })),
    );
  });
}

function expandRule(rule: Rule): Pick<Right, 'verb' | 'resource' | 'name'>[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const targets = [...apiGroups.flatMap((group) => resources.map((path) => formatResource(group, path)))];
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  return verbs.flatMap((verb) => [
    ...targets.flatMap((resource) => names.map((name) => ({ verb, resource, name }))),
    ...nonResourceURLs.map((resource) => ({ verb, resource, name: undefined })),
  ]);
}

/** Which of some rights requests have used. */
export class Usage {
  readonly #unused: Map<string, Right[]>;

  constructor(rights: readonly Right[]) {
    this.#unused = Map.groupBy(rights, getKey);
  }

  /** Counts a request for every right that allows it. */
  record(request: Request): void {
    const key = getKey(request);
    const candidates = this.#unused.get(key);
    if (candidates === undefined) return;
    this.#unused.set(
      key,
      candidates.filter((right) => !allows(right, request)),
    );
  }

  listUnused(): Right[] {
    return [...this.#unused.values()].flat();
  }
}

const getKey = ({ account, verb, resource }: Right | Request): string => `${account} ${verb} ${resource}`;

function allows({ namespace, name }: Right, request: Request): boolean {
  return (namespace === undefined || namespace === request.namespace) && (name === undefined || name === request.name);
}

/** One line that says whose right it is, and for what. */
export function formatRight({ account, verb, resource, namespace, name }: Right): string {
  const object = name === undefined ? resource : `${resource} ${name}`;
  return `${account}: ${verb} ${object} ${namespace === undefined ? 'everywhere' : `in ${namespace}`}`;
}
