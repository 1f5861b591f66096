// A session's transcript for a person: who said what, what was done, how each run ended.
import type { RunEnded } from '../../workflows/contract/activities.ts';
import type { Entry, Outcome, ReplyEntry } from '../../activities/transcript/entries.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import type { MessageBody } from '../../workflows/contract/session.ts';
import { terminalDetail } from '../run-outcome.ts';
import { isUnderWay, phaseText } from '../session-info.ts';
import type { SessionReading } from '../session-reading.ts';
import { contextText, fullCommand } from './context-words.ts';
import type { Paint } from './paint.ts';
import { type PairedOutcomes, pairedOutcomes } from './paired-outcomes.ts';
import { oneLine, plain } from './plain.ts';
import { callLine, resultLines } from './tool-lines.ts';
import { count } from './units.ts';
import { noticeText, outcomeText, transitionText } from './words.ts';

/** Characters of one message. */
const SHOWN = 20_000;

/** Ends with a line break. */
export function transcriptText(paint: Paint, reading: SessionReading): string {
  const { description, entries } = reading;
  const { last } = description;
  const lines = [transcriptHeading(paint, reading)];
  const paired = pairedOutcomes(entries);
  for (const entry of entries) lines.push(...entryLines(paint, entry, reading, paired));
  if (entries.length === 0 && last)
    lines.push('', `the transcript cannot be read; run ${last.run} ended: ${last.terminal.reason}`);
  if (isUnderWay(description)) lines.push(paint.dim(`(a run is under way: perdure watch ${description.session})`));
  return `${lines.join('\n')}\n`;
}

export function transcriptHeading(paint: Paint, { description }: SessionReading): string {
  const { session, title, cwd, runs, startedAt } = description;
  const since = `since ${new Date(startedAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const facts = [phaseText(description), count(runs, 'run'), since, oneLine(cwd, 200)].join(' · ');
  return `${paint.bold(session)}  ${oneLine(title, 120)}\n${paint.dim(facts)}`;
}

function entryLines(paint: Paint, entry: Entry, reading: SessionReading, paired: PairedOutcomes): readonly string[] {
  const { bodies, description } = reading;
  switch (entry.kind) {
    case 'run_started':
      return ['', paint.dim(`── run ${entry.run}`)];
    case 'user':
      return [`${paint.bold('›')} ${messageText(entry.body, bodies)}`];
    case 'reply':
      return replyLines(paint, entry, paired);
    case 'outcomes':
      return [];
    case 'boundary':
      return ['', paint.yellow(`══ ${contextText(entry, fullCommand(description.session))}`), ''];
    case 'microcompact':
    case 'collapse_staged':
    case 'collapse_committed':
    case 'snip':
      return [paint.dim(`⇣ ${contextText(entry, fullCommand(description.session))}`)];
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

/** Calls with their outcomes, which were stored after. */
function replyLines(paint: Paint, reply: ReplyEntry, paired: PairedOutcomes): readonly string[] {
  const lines = reply.message.content.flatMap((block, index) => {
    if (block.type === 'text') return block.text.trim() === '' ? [] : [shortened(block.text)];
    if (block.type !== 'tool_use') return [];
    const outcome = paired.get(reply)?.get(index);
    const after = outcome ? outcomeLines(paint, outcome) : [paint.dim('  (no outcome yet)')];
    return [callLine(paint, block.name, block.input), ...after];
  });
  return reply.fate === 'whole' ? lines : [...lines, paint.dim(`(the reply was ${reply.fate})`)];
}

function outcomeLines(paint: Paint, { content, isError, log, whole }: Outcome): readonly string[] {
  const how =
    log.decision === 'allowed' && log.outcome === 'ok' ? [] : [`  (${[log.decision, log.outcome].join(', ')})`];
  const rest = whole ? [`  (all ${count(whole.bytes, 'byte')} are stored)`] : [];
  const durationMs = log.decision === 'allowed' ? log.duration : null;
  return [resultLines(paint, { content, isError, durationMs }), ...[...how, ...rest].map(paint.dim)];
}

function messageText(body: MessageBody, bodies: ReadonlyMap<Hash, string>): string {
  const text = body.kind === 'text' ? body.text : bodies.get(body.hash);
  return text === undefined ? '(its text cannot be read)' : shortened(text);
}

function shortened(text: string): string {
  const shown = plain(text.slice(0, SHOWN));
  return text.length > SHOWN ? `${shown}\n… (${count(text.length, 'character')} in all)` : shown;
}
