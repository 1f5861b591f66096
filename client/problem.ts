// A problem that the caller of the client has to know or put right: a sentence, without a stack.

/**
 * `no_session`, `no_call`, `no_schedule`, `closed`, `no_worker`: as it says. `refused`: what was
 * asked for will not do. `unanswered`: the server did not.
 */
export type ProblemKind = 'no_session' | 'no_call' | 'no_schedule' | 'closed' | 'no_worker' | 'refused' | 'unanswered';

/**
 * What a client was asked for cannot be done: a sentence for people, and its `kind` for programs.
 */
export class ClientProblem extends Error {
  override readonly name = 'ClientProblem';
  readonly kind: ProblemKind;
  constructor(kind: ProblemKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
