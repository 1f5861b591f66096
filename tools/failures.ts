// The ways in which a call of a tool fails, as its own code says it.

/**
 * Throw for a failure that the model can read and react to; any other error of a tool is reported
 * the same way, as a defect of the tool.
 */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
}

/** Throw when the run cannot go on (L34). */
export class FatalToolFailure extends Error {
  override readonly name = 'FatalToolFailure';
}

/** This attempt of the call was given up: its effects no longer count. */
export class Superseded extends Error {
  override readonly name = 'Superseded';
}
