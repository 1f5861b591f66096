// Reads the result of a run from its entries alone, for the result of a query, for `show` and for
// the page.
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { AgentSpending } from '../../workflows/contract/delegation.ts';
import type { MessageId } from '../../workflows/contract/ids.ts';
import type { Terminal, TerminalReason, TransitionReason, Usage } from '../../workflows/contract/loop.ts';
import type { ConfigReader } from '../configuration.ts';
import type { Entry, ReplyEntry } from '../log/entries.ts';
import { isDamage } from '../values/store.ts';
import type { View } from './view.ts';

export type RunResult = {
  readonly run: number;
  readonly reason: TerminalReason;
  readonly terminal: Terminal;
  readonly turns: number;
  readonly iterations: number;
  /** All transitions, oldest first (L3). */
  readonly transitions: readonly { readonly iteration: number; readonly reason: TransitionReason }[];
  /** The last reply's text; the pieces of a reply that was cut and continued are joined (L27). */
  readonly text: string;
  readonly messages: readonly MessageId[];
  readonly usage: Usage;
  /** US dollars; null when a price is not known. */
  readonly costUsd: number | null;
  /**
   * The run's agents that have ended, with what each cost, which is in `usage` and `costUsd`;
   * absent without any (L69).
   */
  readonly agents?: readonly AgentSpending[];
  readonly durationMs: number;
};

/** Returns null when the run has not ended in this view, or is not in it. */
export function resultOf(view: Pick<View, 'entries'>, run: number): RunResult | null {
  const entries = entriesOf(view.entries, run);
  const last = entries.at(-1);
  if (last?.kind !== 'run_ended') return null;
  const { terminal, turns, iterations, messages, spend, agents, durationMs } = last.ended;
  return {
    run,
    reason: terminal.reason,
    terminal,
    turns,
    iterations,
    transitions: entries.flatMap((entry) =>
      entry.kind === 'transition' ? [{ iteration: entry.iteration, reason: entry.reason }] : [],
    ),
    text: finalText(entries),
    messages,
    usage: spend.usage,
    costUsd: spend.usd,
    ...(agents && { agents }),
    durationMs,
  };
}

/**
 * Returns the entries after the run before it, up to its own `run_ended`; empty when it has not
 * ended.
 */
function entriesOf(entries: readonly Entry[], run: number): readonly Entry[] {
  const end = entries.findLastIndex((entry) => entry.kind === 'run_ended' && entry.ended.run === run);
  const before = entries.slice(0, Math.max(0, end)).findLastIndex((entry) => entry.kind === 'run_ended');
  return entries.slice(before + 1, end + 1);
}

// Reads the answer of a run so far: the one text that an output schema is held against, that stop
// hooks see and that is its result.
/** A view of a transcript, or the entries of a run. */
type EntryList = { readonly length: number; at(position: number): Entry | undefined };

/**
 * Joins the last reply with the pieces before it that it continues (L27). Reads no further back
 * than the first of them.
 */
export function finalText(entries: EntryList): string {
  return finalPieces(entries)
    .map((position) => messageText((entries.at(position) as ReplyEntry).message))
    .join('');
}

/** Returns the positions of the pieces, oldest first. */
export function finalPieces(entries: EntryList): readonly number[] {
  const pieces: number[] = [];
  let continued: boolean | null = true;
  for (let position = entries.length - 1; position >= 0 && continued !== false; position -= 1) {
    const entry = entries.at(position);
    if (entry?.kind === 'reply') {
      if (continued === null) break;
      pieces.unshift(position);
      continued = null;
    } else if (entry) {
      continued ??= isContinued(entry);
    }
  }
  return pieces;
}

/** Transitions that make the same request again in another way: it still continues what it did. */
const RETRIES: ReadonlySet<TransitionReason> = new Set<TransitionReason>([
  'collapse_drain_retry',
  'reactive_compact_retry',
  'max_output_tokens_escalate',
  'model_fallback',
]);

/**
 * Tells whether a reply after this entry continues the one before it; null where an earlier entry
 * decides.
 */
function isContinued(entry: Entry): boolean | null {
  switch (entry.kind) {
    case 'run_started':
      return false;
    case 'notice':
      // A summing-up of the run continues nothing (L51).
      return entry.notice.kind === 'wrap_up' ? false : null;
    case 'transition':
      return RETRIES.has(entry.reason) ? null : entry.reason === 'max_output_tokens_recovery';
    default:
      return null;
  }
}

/** Returns the text blocks of a message, joined as they came, without its calls. */
export function messageText({ content }: Pick<Message, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

// Reads the JSON value in a final answer (L53): the whole text, or its one fenced block.
type StructuredOutput =
  | { readonly kind: 'value'; readonly value: unknown }
  /** `problem` is a sentence for the model. */
  | { readonly kind: 'none'; readonly problem: string };

/**
 * A line that may begin a block, and one that ends it. JSON has no line that begins with a
 * backtick.
 */
const OPENS = /^[ \t]*```(?:json)?[ \t]*\r?$/i;
const CLOSES = /^[ \t]*```[ \t]*\r?$/;

export function parseStructuredOutput(text: string): StructuredOutput {
  const whole = text.trim();
  if (whole === '') return noOutput('it has no text');
  const plain = parseValue(whole);
  if (plain.kind === 'value') return plain;
  const blocks = listFencedBlocks(whole);
  const [block] = blocks;
  if (block === undefined) return plain;
  return blocks.length === 1
    ? parseValue(block)
    : noOutput(`it has ${blocks.length} fenced blocks, and one is asked for`);
}

/**
 * Finds blocks line by line: an expression for the whole text would look for the end of each block
 * up to the end of the text.
 */
function listFencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: string[] | null = null;
  for (const line of text.split('\n')) {
    if (open === null) {
      if (OPENS.test(line)) open = [];
    } else if (CLOSES.test(line)) {
      blocks.push(open.join('\n'));
      open = null;
    } else {
      open.push(line);
    }
  }
  return blocks;
}

function parseValue(json: string): StructuredOutput {
  try {
    return { kind: 'value', value: JSON.parse(json) as unknown };
  } catch (error) {
    if (error instanceof SyntaxError) return noOutput(`it is not one JSON value: ${error.message}`);
    throw error;
  }
}

function noOutput(problem: string): StructuredOutput {
  return { kind: 'none', problem };
}

export type RunOutput = { readonly output?: unknown };

/**
 * Returns the final answer's value; nothing when the run had no schema or did not complete, and
 * when its configuration is damaged: the result stands without it.
 */
export async function outputOf(
  config: ConfigReader,
  entries: readonly Entry[],
  { run, reason, text }: RunResult,
): Promise<RunOutput> {
  const started = entries.findLast((entry) => entry.kind === 'run_started' && entry.run === run);
  if (started?.kind !== 'run_started' || reason !== 'completed') return {};
  try {
    const { outputSchema } = await config(started.config);
    const found = outputSchema ? parseStructuredOutput(text) : null;
    return found?.kind === 'value' ? { output: found.value } : {};
  } catch (error) {
    if (isDamage(error)) return {};
    throw error;
  }
}
