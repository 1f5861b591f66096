// Formats a session's transcript for a person: who said what, what was done, how each run ended.
import type {
  RunEnded,
  Entry,
  EpochEntry,
  Outcome,
  ReplyEntry,
  LeftBehind,
  SessionReading,
  PairedOutcomes,
  Paint,
  BackgroundCommand,
  OpenAgent,
  OpenAgents,
  Hash,
  PendingApproval,
  MessageBody,
} from '../../client/faces/types.ts';
import {
  budgetText,
  isUntimed,
  mediaNote,
  isRepeated,
  epochText,
  isOrdinary,
  noticeText,
  reasonText,
  transitionText,
  approvalHint,
  contextText,
  fullCommand,
  endingText,
  endWords,
  searchBlockLine,
  callLines,
  resultLines,
  outcomeWords,
  pairOutcomes,
  REPEATED,
  taskListOf,
} from '../../client/faces/words.ts';
import { filesLines } from '../../client/faces/turns.ts';
import { steeringText } from '../../client/faces/options.ts';
import { isUnderWay, phaseText } from '../../client/faces/lists.ts';
import { markRows, formatCount, formatMoment, formatMoney, shortTime } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { showUnseen } from '../../system/text.ts';
import { textStream } from '../terminal/markdown-stream.ts';

/** Most characters of one message. */
const SHOWN = 20_000;

type Others = {
  /** The agents whose calls have no outcome yet. */
  readonly agents?: OpenAgents;
  /** Turns that rewinds have left behind, by the positions of the rewinds' entries. */
  readonly left?: ReadonlyMap<number, readonly LeftBehind[]>;
};

/** Ends with a line break. */
export function transcriptText(
  paint: Paint,
  reading: SessionReading,
  { agents = new Map(), left = new Map() }: Others = {},
): string {
  const { description, entries, first } = reading;
  const { last } = description;
  const lines = [transcriptHeading(paint, reading)];
  const paired = pairOutcomes(entries);
  for (const index of entries.keys()) {
    for (const stretch of left.get(first + index) ?? []) lines.push(...formatLeftBehind(paint, reading, stretch));
    lines.push(...entryLines(paint, index, reading, { paired, agents }));
  }
  if (entries.length === 0 && last)
    lines.push('', `the transcript cannot be read; run ${last.run} ended: ${endWords(last.terminal)}`);
  lines.push(...taskLines(paint, entries));
  if (isUnderWay(description)) lines.push(paint.dim(`(a run is under way: perdure watch ${description.session})`));
  lines.push(...decideLines(paint, description));
  return `${lines.join('\n')}\n`;
}

/** Says by which commands the first call that waits is decided. */
function decideLines(paint: Paint, { session, status, approvals = [] }: SessionReading['description']): string[] {
  const [first] = approvals;
  if (first === undefined || status !== 'open') return [];
  const { call, question, agent } = first;
  const where = { ...(agent ?? { session, call }), ...(question && { question }) };
  return [paint.dim(`(${approvalHint(where, 'perdure')})`)];
}

/** Formats what a rewind has left behind, which waits for nobody. */
function formatLeftBehind(paint: Paint, reading: SessionReading, stretch: LeftBehind): readonly string[] {
  const { entries, first, problem } = stretch;
  if (problem !== undefined) return [paint.yellow(`! what was left behind cannot be read: ${problem}`)];
  const { approvals: _, ...description } = reading.description;
  const calls = { paired: pairOutcomes(entries), agents: new Map() };
  const own = { ...reading, ...stretch, description };
  const lines = [...entries.keys()].flatMap((index) => entryLines(paint, index, own, calls));
  const last = first + entries.length - 1;
  return ['', paint.dim(`┌─ left behind: entries ${first} to ${last}`), ...lines, paint.dim('└─'), ''];
}

/** Formats the task list as it stands now (L83). */
function taskLines(paint: Paint, entries: readonly Entry[]): readonly string[] {
  const tasks = taskListOf(entries);
  if (tasks === null) return [];
  const rows = showUnseen(tasks).split('\n');
  return [
    '',
    paint.bold('Tasks'),
    ...inRows(
      paint,
      rows.map((row) => `  ${oneLine(row, 400)}`),
    ),
  ];
}

/** Ends with a line break; empty without background commands (L84). */
export function backgroundText(paint: Paint, commands: readonly BackgroundCommand[]): string {
  if (commands.length === 0) return '';
  const lines = commands.flatMap(({ id, command, run, startedAt, endedAt, state, last }) => {
    const since = startedAt === null ? [] : [`since ${formatMoment(startedAt)}`];
    const until = endedAt === null ? [] : [`ended ${formatMoment(endedAt)}`];
    const facts = [`run ${run}`, ...since, ...until].join(', ');
    const output = last === '' ? [] : showUnseen(last).split('\n').slice(-LAST_LINES);
    return inRows(paint, [
      `  ${id} ${oneLine(state, 200)}: ${oneLine(command, 120)} ${paint.dim(`(${facts})`)}`,
      ...output.map((line) => paint.dim(`    │ ${oneLine(line, 400)}`)),
    ]);
  });
  return `${['', paint.bold('In the background'), ...lines].join('\n')}\n`;
}

const LAST_LINES = 5;

export function transcriptHeading(paint: Paint, { description }: SessionReading): string {
  const { session, title, cwd, runs, startedAt, forkedFrom } = description;
  const since = `since ${new Date(startedAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const facts = [phaseText(description), formatCount(runs, 'run'), since, oneLine(cwd, 200)].join(' · ');
  const from = forkedFrom ? [paint.dim(`forked from ${forkedFrom.session} at entry ${forkedFrom.position}`)] : [];
  const lines = [`${paint.bold(oneLine(session, 200))}  ${oneLine(title, 120)}`, paint.dim(facts), ...from];
  return inRows(paint, lines).join('\n');
}

/** Names the sender of a message that has one. */
function senderLine(paint: Paint, { by }: Extract<Entry, { kind: 'user' }>): readonly string[] {
  return by === undefined ? [] : [paint.dim(`  (from ${oneLine(by, 100)})`)];
}

type Calls = { readonly paired: PairedOutcomes; readonly agents: OpenAgents };

function entryLines(
  paint: Paint,
  position: number,
  reading: SessionReading,
  { paired, agents }: Calls,
): readonly string[] {
  const { bodies, description, entries } = reading;
  const entry = entries[position] as Entry;
  switch (entry.kind) {
    case 'run_started':
      return ['', paint.dim(`── run ${entry.run}`)];
    case 'user':
      return [`${paint.bold('›')} ${messageText(entry.body, bodies)}`, ...senderLine(paint, entry)];
    case 'reply':
      return replyLines(paint, entry, paired.get(entry), {
        waiting: waitingCalls(reading, entry),
        agents: agents.get(entry) ?? new Map(),
      });
    case 'outcomes':
    case 'wait':
    case 'settled':
      return [];
    case 'budget':
      return [paint.dim(`• ${budgetText(entry)}`)];
    case 'boundary':
      return ['', paint.yellow(`══ ${contextText(entry, fullCommand(description.session))}`), ''];
    case 'microcompact':
    case 'collapse_staged':
    case 'collapse_committed':
    case 'snip':
      return [paint.dim(`⇣ ${contextText(entry, fullCommand(description.session))}`)];
    case 'epoch':
      return epochLines(paint, entry);
    case 'steered':
      return [paint.dim(`• ${steeringText(entry.steered)}`)];
    case 'notice':
      return [paint.yellow(`! ${noticeText(entry.notice)}`)];
    case 'transition':
      return isOrdinary(entry.reason) ? [] : [paint.dim(`── ${transitionText(entry.reason)}`)];
    case 'run_ended':
      return [endLine(paint, endingText(entries, position, entry.ended), entry.ended)];
    case 'files':
      return inRows(
        paint,
        filesLines(entries, position).map((line) => paint.dim(`  ${line}`)),
      );
    case 'session_closed':
      return [
        paint.dim(
          entry.notTaken.length > 0 ? `closed; ${formatCount(entry.notTaken.length, 'message')} not taken` : 'closed',
        ),
      ];
  }
}

function epochLines(paint: Paint, entry: EpochEntry): readonly string[] {
  const text = epochText(entry);
  return text === null ? [] : [paint.dim(`• ${text}`)];
}

function endLine(paint: Paint, text: string, { terminal }: RunEnded): string {
  return terminal.reason === 'completed' ? paint.green(text) : paint.red(text);
}

/** Returns the waiting calls of the last reply, by their blocks, as the memo lists them (L55). */
function waitingCalls({ description, entries }: SessionReading, reply: ReplyEntry): WaitingCalls {
  const { status, approvals = [] } = description;
  const waits = status === 'open' && entries.findLast(({ kind }) => kind === 'reply') === reply;
  return new Map(waits ? approvals.flatMap((approval) => (approval.agent ? [] : [[approval.index, approval]])) : []);
}

type WaitingCalls = ReadonlyMap<number, PendingApproval>;
type OpenCalls = { readonly waiting: WaitingCalls; readonly agents: ReadonlyMap<number, OpenAgent> };

/** Formats calls with their outcomes, which are stored after the reply. */
function replyLines(
  paint: Paint,
  reply: ReplyEntry,
  outcomes: ReadonlyMap<number, Outcome> = new Map(),
  { waiting, agents }: OpenCalls,
): readonly string[] {
  const lines = reply.message.content.flatMap((block, index) => {
    if (block.type === 'text') return block.text.trim() === '' ? [] : [proseText(paint, shortenText(block.text))];
    const searched = searchBlockLine(block);
    if (searched !== null) return inRows(paint, [paint.dim(`• ${searched}`)]);
    if (block.type !== 'tool_use') return [];
    const outcome = outcomes.get(index);
    const agent = agents.get(index);
    const after = outcome
      ? outcomeLines(paint, outcome)
      : agent
        ? agentLines(paint, agent)
        : [openLine(paint, isRepeated(reply, index), waiting.get(index))];
    return inRows(paint, [...callLines(paint, block.name, block.input), ...after]);
  });
  return reply.fate === 'whole' ? lines : [...lines, paint.dim(`(the reply was ${reply.fate})`)];
}

/** Splits lines that are not prose into rows of a terminal. */
const inRows = (paint: Paint, lines: readonly string[]): readonly string[] =>
  lines.flatMap((line) => line.split('\n')).flatMap((line) => markRows(paint.columns(), line));

function openLine(paint: Paint, repeated: boolean, waits: PendingApproval | undefined): string {
  if (repeated) return paint.dim(`  (${REPEATED})`);
  if (waits === undefined) return paint.dim('  (no outcome yet)');
  const why = waits.question ? 'waits for an answer' : `waits for a decision: ${oneLine(waits.reason, 500)}`;
  return `  ${paint.yellow('?')} ${why} ${paint.dim(`(call ${oneLine(waits.call, 100)})`)}`;
}

/** Says how an agent stands, or how it ended with its last words. */
function agentLines(paint: Paint, { agent, outcome }: OpenAgent): readonly string[] {
  const { session, facts, startedAt, closedAt } = agent;
  const usage = facts
    ? [formatCount(facts.turns, 'turn'), formatMoney(facts.cents === null ? null : facts.cents / 100)]
    : [];
  const end = outcome
    ? `${reasonText(outcome.reason)}${closedAt === null ? '' : ` in ${shortTime(closedAt - startedAt)}`}`
    : phaseText(agent);
  const row = paint.dim(`  (agent ${oneLine(session, 100)}: ${[end, ...usage].join(' · ')})`);
  if (!outcome) return [row];
  const isError = outcome.reason !== 'completed';
  return [resultLines(paint, { content: outcome.text || (outcome.detail ?? ''), isError, durationMs: null }), row];
}

function outcomeLines(paint: Paint, outcome: Outcome): readonly string[] {
  const { content, isError, log, whole } = outcome;
  const words = outcomeWords(outcome);
  const how = words.length > 0 ? [`  (${words.join(', ')})`] : [];
  const rest = whole ? [`  (all ${formatCount(whole.bytes, 'byte')} are stored)`] : [];
  const durationMs = isUntimed(log) ? null : log.duration;
  return [resultLines(paint, { content, isError, durationMs, name: log.name }), ...[...how, ...rest].map(paint.dim)];
}

function messageText(body: MessageBody, bodies: ReadonlyMap<Hash, string>): string {
  const text = body.kind === 'text' ? body.text : bodies.get(body.hash);
  return (text === undefined ? '(its text cannot be read)' : shortenText(text)) + mediaNote(body);
}

/** Renders a model's words as Markdown on a terminal with colours, wrapped between words. */
function proseText(paint: Paint, text: string): string {
  const columns = paint.columns();
  if (!paint.on || columns === null) return text;
  const stream = textStream({ paint, columns: () => columns });
  return [...stream.add(text), ...stream.end()].join('\n');
}

function shortenText(text: string): string {
  const excerpt = showUnseen(text.slice(0, SHOWN));
  return text.length > SHOWN ? `${excerpt}\n… (${formatCount(text.length, 'character')} in all)` : excerpt;
}
