import type { Page } from './model.ts';
import { connections, goMethods, pythonMethods, typescriptClient } from './tables/agent-sandbox/clients.ts';
import { claimWords, eventWords, sandboxWords } from './tables/agent-sandbox/conditions.ts';
import { fieldTables } from './tables/agent-sandbox/fields.ts';
import { metrics, routerMetrics } from './tables/agent-sandbox/metrics.ts';
import { legacyRuntime, router, sandboxd } from './tables/agent-sandbox/runtimes.ts';
import { createFields } from './tables/e2b/create-fields.ts';
import { codeInterpreter, daemonMethods, daemonRoutes } from './tables/e2b/daemon.ts';
import { methodTables } from './tables/e2b/methods.ts';
import { operationTables } from './tables/e2b/operations.ts';
import { kruiseFields } from './tables/openkruise/claims.ts';
import { extensionKeys } from './tables/openkruise/extension-keys.ts';

/** The pages, in the order in which docs/reference/compatibility.md lists them. */
export const pages: readonly Page[] = [
  {
    file: 'agent-sandbox-fields.md',
    title: 'Fields of agent-sandbox',
    about:
      'The fields are those of `v1alpha1` and `v1beta1` together. Fields that Sandlot adds are on the pages of the [kinds](../README.md).',
    tables: fieldTables.map(({ table }) => table),
    sources: ['agentSandbox'],
  },
  {
    file: 'agent-sandbox-conditions.md',
    title: 'Conditions, reasons and metrics of agent-sandbox',
    about:
      'Messages are on the pages of [Sandbox](../sandbox.md#conditions) and [SandboxClaim](../sandbox-claim.md#conditions), labels of metrics in [Metrics](../observability.md#metrics). Names that these versions do not have are from agent-sandbox’s documentation, which may be ahead of its release 1.0.',
    tables: [sandboxWords, claimWords, eventWords, metrics, routerMetrics],
    sources: ['agentSandbox', 'pythonClient'],
  },
  {
    file: 'agent-sandbox-clients.md',
    title: 'Clients and runtimes of agent-sandbox',
    about:
      'The client for Python is the package `k8s-agent-sandbox`, the one for Go is that of the module `sigs.k8s.io/agent-sandbox`. [Agent-sandbox clients](../../agent-sandbox-clients.md) says how to connect one.',
    tables: [pythonMethods, connections, router, legacyRuntime, sandboxd, goMethods, typescriptClient],
    sources: ['agentSandbox', 'pythonClient'],
  },
  {
    file: 'openkruise-claims.md',
    title: 'Claims of OpenKruise Agents',
    about:
      'Sandlot does not serve the kinds of OpenKruise: a field counts as there if a claim of Sandlot has it. `npx sandlot migrate openkruise` [translates](../../operations/migrate.md) the objects.',
    tables: [kruiseFields, extensionKeys],
    sources: [],
  },
  {
    file: 'e2b-operations.md',
    title: 'Operations of E2B',
    about:
      'The operations are those of the client `e2b`, and others of the API that it comes from. 501 names the missing feature.',
    tables: [...operationTables, createFields, daemonRoutes, daemonMethods, codeInterpreter],
    sources: ['e2b'],
  },
  {
    file: 'e2b-clients.md',
    title: 'Clients of E2B',
    about:
      'Names are those of the client for JavaScript, `e2b`; the one for Python has the same methods. [Clients of E2B](../../e2b-clients.md) says how to connect one.',
    tables: methodTables,
    sources: ['e2b'],
  },
];
