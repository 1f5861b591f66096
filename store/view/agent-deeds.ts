// Tells what an agent did that a limit or a stop has cut short: its parent's model would else begin
// anew.
import { clip, onOneLine } from '../../system/text.ts';
import type { Entry } from '../log/entries.ts';
import { messageText } from './final-text.ts';

/** The newest calls that are listed. */
const MOST_CALLS = 30;
const LONGEST_INPUT = 160;
const LONGEST_WORDS = 2_000;

/** Returns '' for a run without calls. Words are told where the last reply has none. */
export function describeDeeds(entries: readonly Entry[]): string {
  const outcomes = entries.flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  const ends = new Map(outcomes.map(({ toolUseId, isError }) => [toolUseId, isError ? ' (failed)' : '']));
  const replies = entries.flatMap((entry) => (entry.kind === 'reply' ? [entry.message] : []));
  const calls = replies.flatMap(({ content }) => content.filter((block) => block.type === 'tool_use'));
  if (calls.length === 0) return '';
  const lines = calls.slice(-MOST_CALLS).map(({ id, name, input }) => {
    const given = clip(onOneLine(subjectOf(input)), LONGEST_INPUT);
    return `- ${name} ${given}${ends.get(id) ?? ' (without an outcome)'}`;
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
  const told = ['command', 'path', 'pattern', 'url', 'prompt'].map((name) => fields[name]);
  return told.find((value) => typeof value === 'string') ?? JSON.stringify(fields);
}
