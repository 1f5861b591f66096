// The subjects of the bench: the engine's floor, and a session that makes one call each turn.
export type Subject = 'floor' | 'safe' | 'effectful' | 'write' | 'bash';

/** The call of each turn: the name of a tool, and its input as JSON. The floor calls none. */
export const CALLS: Readonly<Record<Exclude<Subject, 'floor'>, readonly [tool: string, input: string]>> = {
  safe: ['read', '{"path":"small.txt"}'],
  /** A tool of a configuration, that does next to nothing: claimed, run once, recorded. */
  effectful: ['note', '{"line":"a line"}'],
  write: ['write', '{"path":"written.txt","content":"a line\\n"}'],
  bash: ['bash', '{"command":"echo a line >> notes.txt"}'],
};

/** The activity that opens a turn in the history, and how many of it a turn has. */
export function opensTurn(subject: Subject): readonly [activity: string, every: number] {
  return subject === 'floor' ? ['nothing', 2] : ['perdure.callModel', 1];
}
