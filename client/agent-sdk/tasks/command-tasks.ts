// Tells commands in the background as tasks: the outcome of the call says that one started, and a
// note to the model, or the outcome of the call that ended it, says how it ended.
import { present } from '../../faces/basics.ts';
import type { Entry, Outcome, ReplyEntry } from '../../faces/types.ts';
import { describeCommand, readStartedId, sourceName } from '../../faces/tools.ts';
import { uuidOf } from '../values.ts';
import type { SDKMessage } from '../shapes/messages.ts';

type Command = { readonly id: string; readonly command: string; readonly toolUseId: string };

export type CommandTasks = {
  /** Returns the same messages again for the same entry. */
  tell(entry: Entry, position: number): readonly SDKMessage[];
  /**
   * Notes that the program has ended the command, and returns the message of its end, or null when
   * its end was told before.
   */
  stop(id: string): SDKMessage | null;
};

/** `owner` is the session or agent of the transcript, and `parent` the agent's own task. */
export function createCommandTasks(session: string, owner: string, parent?: string): CommandTasks {
  const started = new Map<string, Command>();
  /** The position of the entry that told the end of each command first. */
  const endPositions = new Map<string, number>();
  let reply: ReplyEntry | null = null;
  const common = (id: string, position: number, what: string) => ({
    task_id: id,
    session_id: session,
    uuid: uuidOf(owner, position, what, id),
  });
  const begin = (outcome: Outcome, position: number): readonly SDKMessage[] => {
    const command = commandOfOutcome(reply, outcome);
    if (command === null) return [];
    started.set(command.id, command);
    const facts = { tool_use_id: command.toolUseId, description: command.command, is_backgrounded: true };
    const place = { task_type: 'local_bash', ...present({ parent_task_id: parent }) };
    return [
      { type: 'system', subtype: 'task_started', ...common(command.id, position, 'started'), ...facts, ...place },
    ];
  };
  const end = (id: string, words: string, position: number): readonly SDKMessage[] => {
    if ((endPositions.get(id) ?? position) !== position) return [];
    const known = started.get(id);
    const prefix = known && `${describeCommand(known)} `;
    const [line = ''] = (prefix !== undefined && words.startsWith(prefix) ? words.slice(prefix.length) : words).split(
      '\n',
    );
    const status = statusOf(line);
    if (status === null) return [];
    endPositions.set(id, position);
    const what = known ? `Command ${JSON.stringify(known.command)} ${line}` : line;
    const facts = { ...present({ tool_use_id: known?.toolUseId }), ...status, summary: what, output_file: '' };
    return [{ type: 'system', subtype: 'task_notification', ...common(id, position, 'ended'), ...facts }];
  };
  return {
    stop: (id) => {
      const known = started.get(id);
      if (!known || endPositions.has(id)) return null;
      endPositions.set(id, BY_PROGRAM);
      const what = { tool_use_id: known.toolUseId, summary: `Command ${JSON.stringify(known.command)} was stopped` };
      const facts = { ...what, status: 'stopped', output_file: '' } as const;
      return { type: 'system', subtype: 'task_notification', ...common(id, BY_PROGRAM, 'ended'), ...facts };
    },
    tell: (entry, position) => {
      if (entry.kind === 'reply') reply = entry;
      if (entry.kind === 'notice' && entry.notice.kind === 'attachment') {
        const id = SOURCE.exec(entry.notice.source)?.[1];
        return id === undefined ? [] : end(id, withoutOutput(entry.notice.text), position);
      }
      if (entry.kind !== 'outcomes') return [];
      return entry.outcomes.flatMap((outcome) => {
        if (outcome.log.name !== 'bash_stop') return begin(outcome, position);
        const id = /^(bg-[0-9a-f]{8}) /.exec(outcome.content)?.[1];
        return id === undefined || outcome.isError ? [] : end(id, outcome.content, position);
      });
    },
  };
}

/** Replaces the position of an entry for a command that the program has ended. */
const BY_PROGRAM = -1;

const SOURCE = new RegExp(`^${sourceName('(bg-[0-9a-f]{8})')}$`);

/**
 * Returns the background command that a call started. The call must have asked for the background:
 * any command may print the same words.
 */
function commandOfOutcome(reply: ReplyEntry | null, { index, content, log }: Outcome): Command | null {
  const id = log.name === 'bash' ? readStartedId(content) : null;
  const block = reply?.message.content[index];
  if (id === null || block?.type !== 'tool_use') return null;
  const { command, background } = (block.input ?? {}) as { readonly command?: unknown; readonly background?: unknown };
  if (background !== true || typeof command !== 'string') return null;
  return { id, command, toolUseId: block.id };
}

const withoutOutput = (text: string): string =>
  text.replace(/\.(?: The end of its output:[^]*| It wrote nothing that is kept\.)$/, '.');

type Status = { readonly status: 'completed' | 'failed' | 'stopped'; readonly reason?: 'worker_restart' };

/** Returns null when the line does not say that the command ended. */
function statusOf(line: string): Status | null {
  if (/ended with exit status 0\b/.test(line)) return { status: 'completed' };
  if (/ended with exit status|was killed by/.test(line)) return { status: 'failed' };
  if (/\bis gone\b|its worker was shut down/.test(line)) return { status: 'stopped', reason: 'worker_restart' };
  return /\bwas ended\b/.test(line) ? { status: 'stopped' } : null;
}
