// Something a person has to put right before perdure can start: the message is for them and needs
// no stack.

/** `message`: what happened, to what, what to do. One line, but for a list of what was tried. */
export class SetupProblem extends Error {
  override readonly name = 'SetupProblem';
}
