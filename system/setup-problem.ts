// The error for something that a person has to put right before Perdure can start. Its message is
// shown without a stack.

/**
 * `message` says what happened, to what, and what to do. It is one line, except where it lists what
 * was tried.
 */
export class SetupProblem extends Error {
  override readonly name = 'SetupProblem';
}
