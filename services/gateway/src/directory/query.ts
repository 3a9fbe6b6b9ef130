/** The sandbox a request asks for: by its id (E2B), or by the namespace and name of the Sandbox (agent-sandbox). */
export type Query =
  | { readonly by: 'id'; readonly id: string }
  | {
      readonly by: 'name';
      readonly namespace: string;
      readonly name: string;
      /** UID of the Sandbox, when the client names the incarnation it means. */
      readonly uid: string | undefined;
    };

/** Equal for queries that ask for the same, so that they share an answer. */
export function queryKey(query: Query): string {
  return query.by === 'id' ? query.id : `${query.namespace}/${query.name}`;
}
