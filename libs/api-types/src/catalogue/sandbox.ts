/** The only condition types a Sandbox ever has: typed clients compare the whole set. */
export const sandboxConditions = {
  ready: 'Ready',
  suspended: 'Suspended',
  podScheduled: 'PodScheduled',
  finished: 'Finished',
} as const;

/** Reasons of Sandbox conditions (docs/reference/sandbox.md#conditions). */
export const sandboxReasons = {
  notSuspended: 'NotSuspended',
  podTerminated: 'PodTerminated',
  podTerminating: 'PodTerminating',
  podNotOwned: 'PodNotOwned',
  podStateUnknown: 'PodStateUnknown',
  hibernating: 'Hibernating',
  hibernationFailed: 'HibernationFailed',
  /** Deprecated: accepted when read, never written. */
  podNotTerminated: 'PodNotTerminated',
  dependenciesReady: 'DependenciesReady',
  dependenciesNotReady: 'DependenciesNotReady',
  multiplePods: 'MultiplePods',
  sandboxSuspended: 'SandboxSuspended',
  podSucceeded: 'PodSucceeded',
  podFailed: 'PodFailed',
  sandboxExpired: 'SandboxExpired',
  reconcilerError: 'ReconcilerError',
  invalidConfiguration: 'InvalidConfiguration',
  networkPolicyPending: 'NetworkPolicyPending',
  restoreFailed: 'RestoreFailed',
  /** The node has not given the Pod the CPU that a claim asks for, and may still do. */
  resizePending: 'ResizePending',
  /** The node can never give it. */
  resizeInfeasible: 'ResizeInfeasible',
  /** The API server refuses it. */
  resizeRejected: 'ResizeRejected',
  podScheduled: 'PodScheduled',
  podSchedulingUnknown: 'PodSchedulingUnknown',
} as const;

/** Messages of Sandbox conditions; clients match on them. */
export const sandboxMessages = {
  notSuspended: 'Sandbox is not suspended',
  podTerminated: 'Pod has been terminated. Sandbox is suspended',
  podTerminating: 'Pod is terminating. Sandbox is suspending',
  podNotOwned: 'Refused to delete pod because it is not owned by this sandbox',
  podStateUnknown: 'Pod state is unknown. Sandbox suspension cannot be confirmed',
  hibernating: 'Memory of the Pod is being saved. Sandbox is suspending',
  hibernationFailed: (problem: string) => `Memory of the Pod could not be saved, so the Pod is kept: ${problem}`,
  podReady: 'Pod is Ready',
  podMissing: 'Pod does not exist',
  podInPhase: (phase: string) => `Pod exists with phase: ${phase}`,
  podRunningNotReady: 'Pod is Running but not Ready',
  podWithoutIPs: 'Pod is Ready but has no podIPs yet',
  podSaved: 'Pod stands still: its memory is saved, and the Sandbox goes on in another Pod',
  withService: (message: string) => `${message}; Service Exists`,
  withoutService: (message: string) => `${message}; Service does not exist`,
  multiplePods: (count: number) =>
    `multiple Pods (${count}) are controlled by this Sandbox; refusing to choose or create a Pod`,
  suspending: 'Sandbox is suspending',
  suspended: 'Sandbox is suspended',
  podSucceeded: 'Pod completed successfully',
  podFailed: 'Pod failed',
  expired: 'Sandbox has expired',
  error: (error: string) => `Error seen: ${error}`,
  networkPolicyPending: (policy: string, detail: string) =>
    `NetworkPolicy "${policy}" is not in place, so no Pod may start: ${detail}`,
  startUnconfirmed: 'Pod runs, and its node has not confirmed yet that it was restored',
  startPending: (snapshot: string) => `Waits for the copy of SandboxSnapshot "${snapshot}"`,
  restoreFailed: (snapshot: string, problem: string) =>
    `Sandbox cannot start from SandboxSnapshot "${snapshot}", and restoreFrom.onFailure is Fail: ${problem}`,
  resizeUnconfirmed: 'Pod is Ready, and its node has not confirmed the CPU that the claim asks for yet',
  resizeDeferred:
    'Pod is Ready, and its node has no room for the CPU that the claim asks for until other Pods leave it; wait, ask for less, or set waitReadyTimeout to try another Sandbox',
  resizeFailing:
    'Pod is Ready, and its node cannot set the CPU that the claim asks for at the moment; condition PodResizeInProgress of the Pod says why',
  resizeInfeasible: (detail: string) =>
    `the node of the Pod can never give it the CPU that the claim asks for: ${detail}. Ask for less, or use nodes that have it`,
  resizeRejected: (detail: string) => `the CPU that the claim asks for is refused: ${detail}`,
  schedulingNotReported: 'Pod has not reported a PodScheduled condition yet',
  schedulingUnknown: 'Pod state is unknown. Pod scheduling cannot be determined',
} as const;
