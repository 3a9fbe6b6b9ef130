/** Lets callers react to an error. The messages are for the person at the terminal. */
export type LocalClusterErrorCode =
  | 'NOT_ROOT'
  | 'OWNED_BY_OTHER_CHECKOUT'
  | 'OTHER_MODE'
  | 'MISSING_TOOL'
  | 'BUILD_FAILED'
  | 'PACKAGES_FAILED'
  | 'COMMAND_FAILED'
  | 'COMPONENT_FAILED'
  | 'TIMEOUT';

/** Base of every error this package throws on purpose. */
export class LocalClusterError extends Error {
  readonly code: LocalClusterErrorCode;

  constructor(code: LocalClusterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The real node needs root. The simulated cluster does not. */
export class NotRootError extends LocalClusterError {
  constructor() {
    super('NOT_ROOT', 'a real node needs root: it mounts file systems, creates network links and starts containers');
  }
}

/** Another checkout's cluster is up on this machine. A machine can have only one node. */
export class ClusterOwnedError extends LocalClusterError {
  readonly owner: string;

  constructor(owner: string) {
    super(
      'OWNED_BY_OTHER_CHECKOUT',
      `the cluster of another checkout is up on this machine: ${owner}\nStop it first: (cd ${owner} && npm run down)`,
    );
    this.owner = owner;
  }
}

/** The machine lacks a program that we cannot install. */
export class MissingToolError extends LocalClusterError {
  constructor(message: string) {
    super('MISSING_TOOL', message);
  }
}

/** A component did not start or did not become healthy. The message ends with the tail of its log. */
export class ComponentError extends LocalClusterError {
  readonly component: string;
  readonly logTail: string;

  constructor(failure: { component: string; problem: string; logFile: string; logTail: string }) {
    super(
      'COMPONENT_FAILED',
      `${failure.component} ${failure.problem}\nIts log, ${failure.logFile}, ends with:\n${failure.logTail}`,
    );
    this.component = failure.component;
    this.logTail = failure.logTail;
  }
}
