// A session's transcript for a person: who said what, what was done, how each run ended.
import type { RunEnded } from '../../workflows/contract/activities.ts';
import type { Entry, Outcome, ReplyEntry } from '../../activities/transcript/entries.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { MessageBody } from '../../workflows/contract/session.ts';
import { terminalDetail } from '../run-outcome.ts';
import { phaseText } from '../session-info.ts';
import type { SessionReading } from '../session-reading.ts';
import type { Paint } from './paint.ts';
import { oneLine, plain } from './plain.ts';
import { callLine, resultLines } from './tool-lines.ts';
import { count } from './units.ts';
import { noticeText, outcomeText, transitionText } from './words.ts';

/** Characters of one message. */
const SHOWN = 20_000;

/** Ends with a line break. */
export function transcriptText(paint: Paint, reading: SessionReading): string {
  const { description, entries } = reading;
  const lines = [heading(paint, reading)];
  let calls: ReadonlyMap<number, string> = new Map();
  for (const entry of entries) {
    if (entry.kind === 'reply') calls = callLines(paint, entry);
    lines.push(...entryLines(paint, entry, reading, calls));
  }
  if (description.phase === 'running' || description.phase === 'parked')
    lines.push(paint.dim(`(a run is under way: perdure watch ${description.session})`));
  return `${lines.join('\n')}\n`;
}

function heading(paint: Paint, { description }: SessionReading): string {
  const { session, title, cwd, runs, startedAt } = description;
  const since = `since ${new Date(startedAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const facts = [phaseText(description), count(runs, 'run'), since, oneLine(cwd, 200)].join(' · ');
  return `${paint.bold(session)}  ${oneLine(title, 120)}\n${paint.dim(facts)}`;
}

function entryLines(
  paint: Paint,
  entry: Entry,
  { bodies }: SessionReading,
  calls: ReadonlyMap<number, string>,
): readonly string[] {
  switch (entry.kind) {
    case 'run_started':
      return ['', paint.dim(`── run ${entry.run}`)];
    case 'user':
      return [`${paint.bold('›')} ${messageText(entry.body, bodies)}`];
    case 'reply':
      return replyLines(paint, entry);
    case 'outcomes':
      return entry.outcomes.flatMap((outcome) => outcomeLines(paint, outcome, calls));
    case 'notice':
      return [paint.yellow(`! ${noticeText(entry.notice)}`)];
    case 'transition':
      return [paint.dim(`── ${entry.reason === 'next_turn' ? 'next turn' : transitionText(entry.reason)}`)];
    case 'run_ended':
      return [endLine(paint, entry.ended)];
    case 'session_closed':
      return [
        paint.dim(
          entry.notTaken.length > 0 ? `closed; ${count(entry.notTaken.length, 'message')} not taken` : 'closed',
        ),
      ];
  }
}

function endLine(paint: Paint, { terminal, turns, spend, durationMs }: RunEnded): string {
  const { reason } = terminal;
  const text = outcomeText({ reason, detail: terminalDetail(terminal), turns, costUsd: spend.usd, durationMs });
  return reason === 'completed' ? paint.green(text) : paint.red(text);
}

/** Calls are shown with their outcomes, which follow. */
function replyLines(paint: Paint, { message, fate }: ReplyEntry): readonly string[] {
  const text = message.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const said = text.trim() === '' ? [] : [shortened(text)];
  return fate === 'whole' ? said : [...said, paint.dim(`(the reply was ${fate})`)];
}

function callLines(paint: Paint, { message }: ReplyEntry): ReadonlyMap<number, string> {
  const calls = message.content.flatMap((block, index): [number, string][] =>
    block.type === 'tool_use' ? [[index, callLine(paint, block.name, block.input)]] : [],
  );
  return new Map(calls);
}

function outcomeLines(paint: Paint, outcome: Outcome, calls: ReadonlyMap<number, string>): readonly string[] {
  const { content, isError, log, whole, index } = outcome;
  const how =
    log.decision === 'allowed' && log.outcome === 'ok' ? [] : [`  (${[log.decision, log.outcome].join(', ')})`];
  const rest = whole ? [`  (all ${count(whole.bytes, 'byte')} are stored)`] : [];
  const durationMs = log.decision === 'allowed' ? log.duration : null;
  return [
    calls.get(index) ?? callLine(paint, log.name, ''),
    resultLines(paint, { content, isError, durationMs }),
    ...[...how, ...rest].map(paint.dim),
  ];
}

function messageText(body: MessageBody, bodies: ReadonlyMap<Hash, string>): string {
  const text = body.kind === 'text' ? body.text : bodies.get(body.hash);
  return text === undefined ? '(its text cannot be read)' : shortened(text);
}

function shortened(text: string): string {
  const shown = plain(text.slice(0, SHOWN));
  return text.length > SHOWN ? `${shown}\n… (${count(text.length, 'character')} in all)` : shown;
}
