/** The nodes that need an agent and whose agent did not answer when it was last asked. Alerts count them. */
export class SilentNodes {
  readonly #names = new Set<string>();

  note(name: string, isSilent: boolean): void {
    if (isSilent) this.#names.add(name);
    else this.#names.delete(name);
  }

  /** Notes whether `ask` fails. */
  async watch<T>(name: string, ask: () => Promise<T>): Promise<T> {
    try {
      const answer = await ask();
      this.note(name, false);
      return answer;
    } catch (error) {
      this.note(name, true);
      throw error;
    }
  }

  /** Counts the nodes that this process owns: what it found about others is old. */
  count(owns: (name: string) => boolean): number {
    return [...this.#names].filter(owns).length;
  }
}
