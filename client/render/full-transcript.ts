// Prints a whole transcript, across compactions: every text as it is stored, and whole results
// where the model was sent a preview. Marks stand on lines of their own, each with its entry's
// position.
import { mediaNote } from '../../store/log/bodies.ts';
import type { Entry, EpochEntry, Outcome, ReplyEntry } from '../../store/log/entries.ts';
import type { PreambleChanged } from '../../workflows/contract/activities.ts';
import { joinSystemPrompt } from '../../store/transcript/preamble.ts';
import type { LeftBehind } from '../sessions/history/left-behind.ts';
import type { SessionReading } from '../sessions/read.ts';
import { budgetText, epochText, noticeText, transitionText } from './words.ts';
import { contextText, fullCommand, steeringText } from './context-words.ts';
import { endWord } from './outcome-words.ts';
import { endingText } from './ending-words.ts';
import { filesLines } from './files-words.ts';
import { oneLine, type Paint } from '../paint.ts';
import { formatCount } from '../units.ts';

type FullTranscript = {
  readonly paint: Paint;
  readonly reading: SessionReading;
  /** Returns the whole result behind an outcome's preview, or a sentence when it cannot be read. */
  readonly whole: (outcome: Outcome) => Promise<string>;
  /** Makes a text safe for its destination: a terminal needs it, a pipe gets the text as it is. */
  readonly exact: (text: string) => string;
  /** Turns that rewinds have left behind, by the positions of the rewinds' entries. */
  readonly left?: ReadonlyMap<number, readonly LeftBehind[]>;
};

/** Yields the transcript in pieces, since a result may be large. */
export async function* fullTranscript(full: FullTranscript): AsyncIterable<string> {
  for await (const { position, mark, text } of transcriptParts(full)) {
    const line = mark === null ? '' : `${full.paint.dim(full.exact(`── ${position} ${mark}`))}\n`;
    yield text === null ? line : `${line}${endWithBreak(full.exact(text))}`;
  }
}

type Reading = Pick<FullTranscript, 'reading' | 'whole' | 'left'>;

/** Yields every text of a transcript in order, each with the position of its entry. */
export async function* transcriptParts(full: Reading): AsyncIterable<TranscriptPart & { readonly position: number }> {
  const { reading, whole, left } = full;
  for (const [index, entry] of reading.entries.entries()) {
    const position = reading.first + index;
    for (const stretch of left?.get(position) ?? []) {
      yield { position, ...markLine(markOfLeft(stretch)) };
      yield* transcriptParts({ whole, reading: { ...reading, ...stretch } });
      yield { position, ...markLine('the conversation goes on') };
    }
    for await (const part of entryParts(full, entry, index)) yield { position, ...part };
  }
}

/** `mark` names the part; `text` is the stored text, or null. */
type TranscriptPart = { readonly mark: string | null; readonly text: string | null };

async function* entryParts({ reading, whole }: Reading, entry: Entry, position: number): AsyncIterable<TranscriptPart> {
  switch (entry.kind) {
    case 'run_started':
      return yield markLine(`run ${entry.run}`);
    case 'user': {
      const text = entry.body.kind === 'text' ? entry.body.text : reading.bodies.get(entry.body.hash);
      const mark = entry.by === undefined ? 'prompt' : `prompt of ${oneLine(entry.by, 100)}`;
      return yield { mark, text: (text ?? '(its text cannot be read)') + mediaNote(entry.body) };
    }
    case 'reply':
      return yield* replyParts(entry);
    case 'outcomes':
      for (const outcome of entry.outcomes) yield { mark: outcomeMark(outcome), text: await whole(outcome) };
      return;
    case 'wait':
    case 'settled':
      return;
    case 'budget':
      return yield markLine(budgetText(entry));
    case 'boundary':
      yield markLine(contextText(entry, fullCommand(reading.description.session)));
      return yield { mark: 'summary', text: entry.summary };
    case 'collapse_staged':
      return yield { mark: contextText(entry, ''), text: entry.short };
    case 'microcompact':
    case 'collapse_committed':
    case 'snip':
      return yield markLine(contextText(entry, 'here'));
    case 'epoch':
      return yield* epochParts(entry);
    case 'steered':
      return yield markLine(steeringText(entry.steered));
    case 'notice':
      return yield { mark: `notice: ${entry.notice.kind}`, text: noticeWhole(entry.notice) };
    case 'transition':
      return yield markLine(transitionText(entry.reason));
    case 'run_ended':
      return yield markLine(endingText(reading.entries, position, entry.ended));
    case 'files':
      return yield* filesLines(reading.entries, position).map(markLine);
    case 'session_closed':
      return yield markLine(`closed; ${formatCount(entry.notTaken.length, 'message')} not taken`);
  }
}

function* epochParts(entry: EpochEntry): Iterable<TranscriptPart> {
  const why = epochText(entry);
  if (why !== null) yield markLine(why);
  yield { mark: 'system prompt', text: joinSystemPrompt(entry.system) };
  yield { mark: 'tools', text: definitionLines(entry.tools) };
}

function* replyParts({ message, fate }: ReplyEntry): Iterable<TranscriptPart> {
  yield markLine(fate === 'whole' ? 'reply' : `reply (${fate})`);
  for (const block of message.content) {
    if (block.type === 'text') yield { mark: null, text: block.text };
    else if (block.type === 'thinking') yield { mark: 'thinking', text: block.thinking };
    else if (block.type === 'tool_use')
      yield { mark: `call ${block.name} (${block.id})`, text: JSON.stringify(block.input) };
    else yield { mark: block.type, text: JSON.stringify(block) };
  }
}

function outcomeMark({ toolUseId, isError, log }: Outcome): string {
  return `result of ${log.name} (${toolUseId})${isError ? `: ${endWord(log) ?? 'failed'}` : ''}`;
}

function noticeWhole(notice: Extract<Entry, { readonly kind: 'notice' }>['notice']): string {
  if (notice.kind === 'preamble_changed') return changeWhole(notice);
  if ('text' in notice) return notice.text;
  if ('detail' in notice) return notice.detail;
  return 'problem' in notice ? notice.problem : noticeText(notice);
}

/** Formats the change as the model was told it. */
function changeWhole(notice: PreambleChanged): string {
  const { toolsGone, toolsBack, toolsNew = [] } = notice;
  const names = (what: string, all: readonly string[]): readonly string[] =>
    all.length === 0 ? [] : [`${what}: ${all.join(', ')}`];
  return [
    ...notice.parts.map(({ name, text }) => `${name}:\n${text}`),
    ...names('no longer holds', notice.ended),
    ...names('tools gone', toolsGone),
    ...names('tools back', toolsBack),
    ...(toolsNew.length === 0 ? [] : [`new tools:\n${definitionLines(toolsNew)}`]),
  ].join('\n');
}

/** Lists one definition on each line. */
function definitionLines(tools: readonly object[]): string {
  return tools.map((tool) => JSON.stringify(tool)).join('\n');
}

const markLine = (mark: string): TranscriptPart => ({ mark, text: null });

function endWithBreak(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

function markOfLeft({ entries, problem }: LeftBehind): string {
  return problem === undefined
    ? `left behind: ${formatCount(entries.length, 'entry', 'entries')}`
    : `what was left behind cannot be read: ${problem}`;
}
