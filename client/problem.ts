// A problem that the caller of the client must know or correct: a sentence without a stack.

/**
 * Most kinds say what is missing. `refused`: the request is not acceptable. `unanswered`: the
 * server did not answer.
 */
export type ProblemKind = 'no_session' | 'no_call' | 'no_schedule' | 'closed' | 'no_worker' | 'refused' | 'unanswered';

/**
 * Reports that a request to the client cannot be done: a sentence for people and a `kind` for
 * programs.
 */
export class ClientProblem extends Error {
  override readonly name = 'ClientProblem';
  readonly kind: ProblemKind;
  constructor(kind: ProblemKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
