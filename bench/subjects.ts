// The subjects of the bench: the engine's floors, of a turn and of a child workflow, and a session
// that makes one call each turn.
export type Floor = 'floor' | 'children';
export type Subject = Floor | 'bucket' | 'safe' | 'effectful' | 'write' | 'bash' | 'agents';

/**
 * The call of each turn: the name of a tool, and its input as JSON. The floors call none. `%`: the
 * number of the call.
 */
export const CALLS: Readonly<Record<Exclude<Subject, Floor>, readonly [tool: string, input: string]>> = {
  safe: ['read', '{"path":"small.txt"}'],
  /** As safe, with the store in a bucket. */
  bucket: ['read', '{"path":"small.txt"}'],
  /** A tool of a configuration, that does next to nothing: claimed, run once, recorded. */
  effectful: ['note', '{"line":"a line"}'],
  write: ['write', '{"path":"written.txt","content":"a line\\n"}'],
  agents: ['agent', '{"description":"Work %","prompt":"Work. %"}'],
  bash: ['bash', '{"command":"echo a line >> notes.txt"}'],
};

/** The activity that opens a turn in the history, and how many of it a turn has. */
export function opensTurn(subject: Subject): readonly [activity: string, every: number] {
  return subject === 'floor' ? ['nothing', 2] : ['perdure.callModel', 1];
}

export function isFloor(subject: Subject): subject is Floor {
  return subject === 'floor' || subject === 'children';
}
