/** The agent answered that it does not do what was asked. */
export class AgentRefusal extends Error {
  override readonly name = 'AgentRefusal';
  /** `Busy`, `NoSpace`, `PodAbsent` and so on. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** No agent answered: none runs on the node, or the connection failed. What was asked may have happened. */
export class AgentAway extends Error {
  override readonly name = 'AgentAway';
  readonly code = 'Away';
}
