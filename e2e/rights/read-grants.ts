import { z } from 'zod';
import { formatRequest, listAuditEntries } from '../src/support/audit-log.ts';
import { listRights, Usage } from './rights.ts';
import type { Binding, Right, Role } from './rights.ts';

/** Runs kubectl as the administrator and returns what it prints. */
export type RunKubectl = (args: readonly string[]) => Promise<string>;

const metadata = z.object({ name: z.string(), namespace: z.string().optional() });
const strings = z.array(z.string()).optional();

const roleSchema = z.object({
  kind: z.enum(['Role', 'ClusterRole']),
  metadata,
  rules: z
    .array(
      z.object({
        verbs: z.array(z.string()),
        apiGroups: strings,
        resources: strings,
        resourceNames: strings,
        nonResourceURLs: strings,
      }),
    )
    .nullish(),
});

const bindingSchema = z.object({
  kind: z.enum(['RoleBinding', 'ClusterRoleBinding']),
  metadata,
  roleRef: z.object({ kind: z.string(), name: z.string() }),
  subjects: z.array(z.object({ kind: z.string(), name: z.string(), namespace: z.string().optional() })).optional(),
});

const listSchema = z.object({ items: z.array(z.union([roleSchema, bindingSchema])) });

/** The rights of all ServiceAccounts in a namespace, from the bindings and roles of the cluster. */
export async function readRights(kubectl: RunKubectl, namespace: string): Promise<Right[]> {
  const kinds = ['clusterroles,clusterrolebindings', 'roles,rolebindings'];
  const bindings: Binding[] = [];
  const roles: Role[] = [];
  for (const kind of kinds) {
    const text = await kubectl(['get', kind, '--all-namespaces', '--output=json']);
    for (const item of listSchema.parse(JSON.parse(text)).items) {
      if ('roleRef' in item) bindings.push(readBinding(item, namespace));
      else roles.push({ ...item.metadata, rules: item.rules ?? [] });
    }
  }
  return listRights(
    bindings.filter(({ accounts }) => accounts.length > 0),
    roles,
  );
}

/** Those of the rights that no request in the audit log used. */
export async function listUnusedRights(rights: readonly Right[], auditLogPath: string): Promise<Right[]> {
  const usage = new Usage(rights);
  const users = [...new Set(rights.map(({ account }) => account))];
  for await (const entry of listAuditEntries(auditLogPath, users)) {
    const request = formatRequest(entry);
    if (request !== undefined) usage.record(request);
  }
  return usage.listUnused();
}

function readBinding(
  { metadata: { namespace: home }, roleRef, subjects = [] }: z.output<typeof bindingSchema>,
  namespace: string,
): Binding {
  const own = subjects.filter(
    (subject) => subject.kind === 'ServiceAccount' && (subject.namespace ?? home) === namespace,
  );
  return {
    namespace: home,
    role: roleRef,
    accounts: own.map(({ name }) => `system:serviceaccount:${namespace}:${name}`),
  };
}
