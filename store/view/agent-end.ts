// Words the end of an agent for the model of its parent: as the outcome of a call (L67), or as a
// notification (L71).
import type { Notice } from '../../workflows/contract/activities.ts';
import type { AgentEnd, AgentNews, WorktreeEnd } from '../../workflows/contract/delegation.ts';
import { type Spend, type Terminal, totalTokens } from '../../workflows/contract/loop.ts';
import type { Entry } from '../log/entries.ts';
import { clip, onOneLine, quoteLines } from '../../system/text.ts';
import { isDamage, type Store } from '../values/store.ts';
import { finalText, messageText, resultOf } from './result.ts';
import { loadRun } from './view.ts';

/** Characters of an answer that a notification shows; the rest is asked for. */
const LONGEST_ANSWER = 8_000;

export type LastRun = {
  readonly entries: readonly Entry[];
  readonly text: string;
  /** The last words before a reply without any, and its calls. */
  readonly deeds: string;
  readonly completed: boolean;
};

/** Returns null when no run was stored. Throws StoreError. */
export async function lastRunOf(store: Store, { run, session }: AgentEnd): Promise<LastRun | null> {
  if (!run?.head) return null;
  const { entries } = await loadRun(store, session, run.head, { run: run.run });
  const result = resultOf({ entries }, run.run);
  const text = (result?.text ?? finalText(entries)).trim();
  return { entries, text, deeds: describeDeeds(entries), completed: result?.reason === 'completed' };
}

export type AgentWords = Pick<LastRun, 'text' | 'deeds'>;

/** `words` are those of the agent's last run. */
export function describeEnd(
  end: AgentEnd,
  { text, deeds }: AgentWords,
  quote = (words: string): string => words,
): string {
  const { run, session, spend } = end;
  const about = `(agent session ${session}: ${run?.turns ?? 0} turns, ${formatSpend(spend)})`;
  const changes = describeWorktree(end.worktree);
  if (run?.terminal.reason === 'completed') return joinParagraphs(text === '' ? '' : quote(text), changes, about);
  const why = run === null ? 'was stopped before it began' : `ended with ${formatEnd(run.terminal)}`;
  const words = text === '' ? '' : `Its last words:\n${quote(text)}`;
  const done = deeds === '' ? '' : `What it did:\n${quote(deeds)}`;
  const nothing = text === '' && deeds === '' ? 'It had said and done nothing.' : '';
  return joinParagraphs(`The agent ${why}.`, words, done, nothing, changes, about);
}

const countNoun = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Words what became of the agent's work tree (L72). */
function describeWorktree(end: WorktreeEnd | undefined): string {
  if (end === undefined) return '';
  const left = 'left' in end && end.left !== undefined ? ` Its folder ${end.left} could not be removed.` : '';
  const remaining = end.kind === 'unchanged' || end.kind === 'gone' ? end.branch : undefined;
  const stays = remaining && ` Its branch ${remaining} stays: it could not be removed, or somebody has moved it.`;
  switch (end.kind) {
    case 'unchanged':
      return `It changed no files${stays ? `.${stays}` : ': its branch is removed.'}${left}`;
    case 'committed': {
      const { branch, files, insertions, deletions } = end;
      const changed = `${countNoun(files, 'file')} changed, ${countNoun(insertions, 'line')} added, ${deletions} removed`;
      return `Its changes are on branch ${branch}, and are not merged: ${changed}.${left}`;
    }
    case 'kept':
      return `Its changes are not committed${end.path === undefined ? '' : ` and stay in ${end.path}`}: ${onOneLine(end.detail)}.`;
    case 'gone':
      return `Its work tree ${end.path} is gone: someone removed it, with what was not committed.${stays ?? ''}`;
  }
}

const HAS_ENDED = ', which worked in the background and has ended';

/** Tells whether a notice reports the end of an agent in the background. */
export const isAgentNotice = (notice: Notice): boolean =>
  notice.kind === 'attachment' && notice.source.startsWith('agent ') && notice.source.endsWith(HAS_ENDED);

/** Throws StoreError, but not when the agent's transcript is damaged: its parent's is whole. */
export async function agentNotice(store: Store, { agent, title, end }: AgentNews): Promise<Notice> {
  const source = `agent ${agent} (${JSON.stringify(title)})${HAS_ENDED}`;
  const text =
    end.kind === 'failed'
      ? `It failed: ${onOneLine(end.detail)}.`
      : describeEnd(end, await shortWords(store, end), quoteLines);
  return { kind: 'attachment', source, text };
}

async function shortWords(store: Store, end: AgentEnd): Promise<AgentWords> {
  const { text, deeds } = await readWords(store, end);
  if (text.length <= LONGEST_ANSWER) return { text, deeds };
  const cut = `${clip(text, LONGEST_ANSWER)}\n(The rest of it is not shown here: agent_output gives all of it.)`;
  return { text: cut, deeds };
}

/** Throws StoreError, but not for damage. */
export async function lastWords(store: Store, end: AgentEnd): Promise<string> {
  return (await readWords(store, end)).text;
}

async function readWords(store: Store, end: AgentEnd): Promise<AgentWords> {
  try {
    return (await lastRunOf(store, end)) ?? { text: '', deeds: '' };
  } catch (error) {
    if (!isDamage(error)) throw error;
    return { text: 'Its transcript is damaged: what it said cannot be read.', deeds: '' };
  }
}

function formatEnd(terminal: Terminal): string {
  const detail = 'detail' in terminal ? `: ${terminal.detail}` : '';
  return onOneLine(`${terminal.reason}${detail}`).replace(/\.$/, '');
}

function formatSpend({ usage, usd }: Spend): string {
  const cost = usd === null ? '' : `, $${usd.toFixed(4)}`;
  return `${totalTokens(usage)} tokens${cost}`;
}

function joinParagraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The newest calls that are listed. */
const MOST_CALLS = 30;
const LONGEST_INPUT = 160;
const LONGEST_WORDS = 2_000;

/**
 * Tells what an agent did that a limit or a stop has cut short: its parent's model would else begin
 * anew. Returns '' for a run without calls. Words are told where the last reply has none.
 */
export function describeDeeds(entries: readonly Entry[]): string {
  const outcomes = entries.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  const ends = new Map(outcomes.map(({ toolUseId, isError }) => [toolUseId, isError ? ' (failed)' : '']));
  const replies = entries.flatMap((entry) => (entry.kind === 'reply' ? [entry.message] : []));
  const calls = replies.flatMap(({ content }) => content.filter((block) => block.type === 'tool_use'));
  if (calls.length === 0) return '';
  const lines = calls.slice(-MOST_CALLS).map(({ id, name, input }) => {
    const subject = clip(onOneLine(subjectOf(input)), LONGEST_INPUT);
    return `- ${name} ${subject}${ends.get(id) ?? ' (without an outcome)'}`;
  });
  const earlier = calls.length > MOST_CALLS ? [`- ${calls.length - MOST_CALLS} earlier calls`] : [];
  const texts = replies.map((message) => messageText(message).trim());
  const words = texts.at(-1) === '' ? texts.findLast((text) => text !== '') : undefined;
  const before = words === undefined ? [] : [`It said before its last calls: ${clip(words, LONGEST_WORDS)}`];
  return [...before, ...earlier, ...lines].join('\n');
}

/** Names what a call is about by its most telling field. */
function subjectOf(input: unknown): string {
  const fields = (input ?? {}) as Readonly<Record<string, unknown>>;
  const candidates = ['command', 'path', 'pattern', 'url', 'prompt'].map((name) => fields[name]);
  return candidates.find((value) => typeof value === 'string') ?? JSON.stringify(fields);
}
